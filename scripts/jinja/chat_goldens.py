"""Renders every chat template with every conversation by Python's Jinja2.

    python3 scripts/jinja/chat_goldens.py

writes tests/fixtures/jinja/conversations.json and renderings.json. Needs Jinja2 3.1 (Debian: python3-jinja2). A rendering is kept
as the beginning of its SHA-256; PRINT=template/conversation prints one.
"""

import hashlib
import json
import os
from pathlib import Path

from conversations import CONVERSATIONS
from environment import make_environment, render

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"


def main():
    environment = make_environment()
    renderings = {}
    for path in sorted((FIXTURES / "chat-templates").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        of = renderings[path.stem] = {}
        for name, variables in CONVERSATIONS.items():
            how, text = render(environment, source, variables)
            if os.environ.get("PRINT") == f"{path.stem}/{name}":
                print(how, text, sep="\n")
            of[name] = (
                hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
                if how == "text"
                else {how: text} if how == "rejected" else {how: ""}
            )
    if "PRINT" in os.environ:
        return
    # As text in text: whoever reads JSON into doubles would lose large integers and the difference of 1 and 1.0.
    texts = {name: {key: json.dumps(value) for key, value in of.items()} for name, of in CONVERSATIONS.items()}
    write("conversations.json", texts)
    write("renderings.json", renderings)


def write(name, value):
    path = FIXTURES / "jinja" / name
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), indent=1) + "\n", encoding="utf-8")


main()
