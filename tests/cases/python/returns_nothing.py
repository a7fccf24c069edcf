# pipeline
# materialize lake://main/t
def main() -> None:
    return
# ===> becomes
returns_nothing.py:3: main returns None, and its rows are to be written; return a frame; or write by yourself, with materialize manual <address>
