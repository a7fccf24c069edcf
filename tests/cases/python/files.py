# pipeline
# partitioned daily format="%Y/%m/%d"
# on file:data/{partition}/raw.csv
# reads s3:///settled/{partition}.json
import tranche
from tranche import read_file as fetch, write_file

BASE = "s3:///lake"
RAW: str = "s3:///raw/{partition}/in.json"
OUT = BASE + "/out/{partition}.parquet"
LOG = f"{BASE}/log/{{partition}}.txt"
SETTLED = "s3:///settled/{partition}.json"
AWAITED = "file:data/{partition}/raw.csv"
UNKNOWN = "s3:///unknown/{partition}.json"
TABLE = "lake://main/t"
BUCKET = "s3://bucket/is/not/ours.json"
PROSE = "file: what it is called"


def helper(uri):
    write_file(uri, b"")


def main(partition: str):
    found = fetch(RAW.replace("{partition}", partition))
    path = OUT.format(partition=partition)
    write_file(path, found)
    for each in (LOG, "file:///var/log/{partition}.log"):
        tranche.write_file(each, "done")
    tranche.write_file(f"s3:///f/{partition}.json", {})
    helper(UNKNOWN)
# ===> becomes
# main at line 24
# partition = injected partition
# reads s3:///settled/{partition}.json
# reads s3:///raw/{partition}/in.json
# writes s3:///lake/out/{partition}.parquet
# writes file:///var/log/{partition}.log
# writes s3:///lake/log/{partition}.txt
# writes s3:///f/{partition}.json
# warning files.py:14: UNKNOWN is an address, and the code does not show whether it is read or written; add the line '# writes s3:///unknown/{partition}.json' or '# reads s3:///unknown/{partition}.json'
# warning files.py:15: TABLE is an address, and the code does not show whether it is read or written; add the line '# writes lake://main/t' or '# reads lake://main/t'
