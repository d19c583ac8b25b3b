"""The Jinja2 environment in which Hugging Face's transformers renders chat templates, rebuilt after its documentation."""

import json
from datetime import datetime

from jinja2 import nodes
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime(2026, 7, 9, 13, 5, 7)


class Rejected(TemplateError):
    """What a template says by raise_exception."""


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise Rejected(message)


def make_environment():
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return environment


def render(environment, source, variables):
    """("text", …), ("rejected", its words) or ("failed", Python's words)."""
    try:
        return "text", environment.from_string(source).render(**variables)
    except Rejected as error:
        return "rejected", str(error.message)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
