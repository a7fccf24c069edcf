# pipeline
# materialize lake://main/t
def main() -> "dict[str, int]":
    return {}
# ===> becomes
returns.py:3: main returns dict[str, int], and its rows are to be written; return a frame; or write by yourself, with materialize manual <address>
