# pipeline
async def main():
    ...
# ===> becomes
async_main.py:2: main is async, and nothing would await it; write def main, and use asyncio.run within it
