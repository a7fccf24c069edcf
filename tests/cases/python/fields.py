# pipeline
# partitioned dynamic key="$.tenant_id"
# on s3:///inbox/{partition}.json
def main(partitions: list[str], tenant_id, region: str = "eu"):
    ...
# ===> becomes
# main at line 4
# partitions = injected partitions
# tenant_id = field tenant_id
# region = field region, optional
