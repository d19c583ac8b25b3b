"""Reads the cases of llama.cpp's tests/test-jinja.cpp: test_template(t, name, template, variables, expectation)."""

import re

TOKEN = re.compile(
    r'\s+|//[^\n]*|(?P<raw>R"(?P<mark>\w*)\((?P<body>.*?)\)(?P=mark)")|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*(?:::\w+)*)|(?P<mark2>[{}(),])",
    re.S,
)
SIMPLE = {"\n": "", "n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class Cannot(Exception):
    pass


def tokens(source, at):
    while True:
        found = TOKEN.match(source, at)
        if not found:
            raise Cannot(source[at : at + 20])
        at = found.end()
        if found["raw"] is not None:
            yield "string", found["body"]
        elif found["string"] is not None:
            yield "string", unescape(found["string"][1:-1])
        elif found["number"] is not None:
            yield "number", found["number"]
        elif found["name"] is not None:
            yield "name", found["name"]
        elif found["mark2"] is not None:
            yield found["mark2"], found["mark2"]


def unescape(body):
    def one(found):
        hexadecimal, point, other = found.groups()
        if hexadecimal or point:
            return chr(int(hexadecimal or point, 16))
        return SIMPLE[other]

    text = re.sub(r"\\(?:x([0-9a-fA-F]+)|[uU]([0-9a-fA-F]{4,8})|(.))", one, body, flags=re.S)
    # Bytes of UTF-8 that are written as \xNN.
    if "\\x" in body:
        text = text.encode("latin-1", "ignore").decode("utf-8")
    return text


class Reader:
    def __init__(self, source, at):
        self.stream = tokens(source, at)
        self.kind, self.text = next(self.stream)

    def next(self):
        kind, text = self.kind, self.text
        self.kind, self.text = next(self.stream)
        return kind, text

    def expect(self, kind):
        if self.kind != kind:
            raise Cannot(f"{self.kind} {self.text}, expected {kind}")
        return self.next()[1]

    def string(self):
        text = self.expect("string")
        while self.kind == "string":
            text += self.next()[1]
        return text

    def items(self):
        self.expect("{")
        found = []
        while self.kind != "}":
            found.append(self.value())
            if self.kind == ",":
                self.next()
        self.next()
        return found

    def value(self):
        if self.kind == "string":
            return self.string()
        if self.kind == "number":
            text = self.next()[1]
            return float(text) if re.search(r"[.eE]", text) else int(text)
        if self.kind == "{":
            items = self.items()
            pairs = items and all(isinstance(i, list) and len(i) == 2 and isinstance(i[0], str) for i in items)
            return dict(map(tuple, items)) if pairs else items
        name = self.expect("name")
        if name in ("true", "false"):
            return name == "true"
        if name == "nullptr":
            return None
        if name in ("json::array", "json::object", "json"):
            self.expect("(")
            if name == "json":
                value = self.value()
                self.expect(")")
                return value
            items = self.items() if self.kind == "{" else []
            self.expect(")")
            return dict(map(tuple, items)) if name == "json::object" else items
        raise Cannot(name)


def cases_of(source):
    for found in re.finditer(r"^    +test_template\(t, ", source, re.M):
        reader = Reader(source, found.end())
        name = None
        try:
            name = reader.string()
            reader.expect(",")
            template = reader.string()
            reader.expect(",")
            variables = reader.value()
            reader.expect(",")
            yield name, template, variables or {}, reader.string()
        except Cannot as error:
            print(f"not read: {name}: {error}")
