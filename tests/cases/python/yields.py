# pipeline
# materialize lake://main/t
def main():
    yield 1
# ===> becomes
yields.py:3: main yields its rows, and they are written as one frame; return a frame; or write by yourself, with materialize manual <address>
