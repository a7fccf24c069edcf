# A remark.
# pipeline
# writes s3:///a.json
from elsewhere import main


class Steps:
    def main(self):
        ...
# ===> becomes
no_main.py:2: the script has no function main; define it at the top level, as in def main(partition: str)
