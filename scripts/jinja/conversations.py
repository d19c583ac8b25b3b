"""Conversations that chat templates are tried with: what a name stands for is in each of them."""

SYSTEM = {"role": "system", "content": "You are terse.\nNever say \"no\"."}
USER = {"role": "user", "content": "What's the weather in Paris & Zürich?"}
HELLO = {"role": "assistant", "content": "Hello! How can I help?"}

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather.\nSecond line: <b>bold</b> & 'quotes' \"double\".",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "A city, e.g. Köln"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                "days": {"type": ["integer", "null"], "default": None, "minimum": 0, "maximum": 1e2},
                "exact": {"type": "boolean", "default": False},
                "places": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}},
                },
                "mode": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": None},
            },
            "required": ["location"],
        },
        "strict": True,
    },
}
PLAIN = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}}
BARE = {"type": "function", "function": {"name": "ping"}}
RETURNING = {
    "type": "function",
    "function": {
        "name": "sum_all",
        "description": "Adds numbers",
        "parameters": {
            "type": "object",
            "properties": {
                "values": {"type": "array", "items": {"type": "number"}, "description": "All of them"},
                "by": {"type": "object", "additionalProperties": {"type": "string"}},
                "level": {"type": "integer", "enum": [1, 2, 3], "default": 2},
            },
            "required": ["values", "by"],
        },
        "return": {"type": "number", "description": "the sum"},
    },
}
TOOLS = [WEATHER, PLAIN]


def call(name, arguments, id="call00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls, content="", **more):
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def result(content, id="call00001", name="get_weather"):
    return {"role": "tool", "content": content, "tool_call_id": id, "name": name}


PARIS = call("get_weather", {"location": "Paris", "unit": None, "days": 3, "exact": True})
ZURICH = call("get_weather", {"location": "Zürich", "places": [{"lat": 47.37, "lon": 8.5}]}, "call00002")


def conversation(*messages, **variables):
    return {
        "messages": list(messages),
        "tools": None,
        "add_generation_prompt": True,
        "bos_token": "<BOS>",
        "eos_token": "<EOS>",
        **variables,
    }


CONVERSATIONS = {
    "user": conversation(USER),
    "turns": conversation(SYSTEM, USER, HELLO, {"role": "user", "content": "2+2?"}),
    "no prompt": conversation(SYSTEM, USER, HELLO, add_generation_prompt=False),
    "without tools variable": {
        k: v for k, v in conversation(SYSTEM, USER, HELLO, USER).items() if k != "tools"
    },
    "tools": conversation(SYSTEM, USER, tools=TOOLS),
    "tools without system": conversation(USER, tools=[WEATHER]),
    "odd tools": conversation(SYSTEM, USER, tools=[PLAIN, RETURNING]),
    "bare tool": conversation(USER, tools=[BARE]),
    "tool call": conversation(SYSTEM, USER, calling(PARIS), result("12 °C, \"rain\"\n"), tools=TOOLS),
    "tool call answered": conversation(
        USER, calling(PARIS), result("12 °C"), {"role": "assistant", "content": "Rain."}, USER, tools=TOOLS
    ),
    "tool call without tools": conversation(USER, calling(PARIS), result("12")),
    "no content beside call": conversation(
        USER, calling(PARIS, content=None), result('{"t": 12.50, "wind": null}'), tools=TOOLS
    ),
    "content beside call": conversation(USER, calling(PARIS, content="Let me look. "), result("ok"), tools=TOOLS),
    "parallel calls": conversation(
        SYSTEM, USER, calling(PARIS, ZURICH), result("12"), result("9", "call00002"), tools=TOOLS
    ),
    "arguments as text": conversation(
        USER, calling(call("get_weather", '{"location": "Paris", "days": 3}')), result("12"), tools=TOOLS
    ),
    "calls in turn": conversation(
        USER, calling(PARIS), result("12"), calling(ZURICH), result("9", "call00002"), {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"}, tools=TOOLS,
    ),
    "result as parts": conversation(
        USER, calling(PARIS), result([{"type": "text", "text": "12 °C"}, {"type": "text", "text": "rain"}]), tools=TOOLS
    ),
    "numbers": conversation(
        USER,
        calling(
            call(
                "sum_all",
                {
                    "values": [9007199254740993, -12345678901234567890123, 1.0, 0.1, 1e-7, 1e22, 123456789.125, 0, -0.0],
                    "by": {"k": 1.5, "ä": True},
                    "level": 2,
                },
            )
        ),
        result("12345678901234567890"),
        tools=[RETURNING],
    ),
    "several assistants": conversation(
        SYSTEM, USER, HELLO, {"role": "assistant", "content": "And more."}, {"role": "assistant", "content": ""}
    ),
    "reasoning": conversation(
        USER,
        {"role": "assistant", "content": "4.", "reasoning_content": "Two and two.\n"},
        {"role": "user", "content": "And 3+3?"},
        {"role": "assistant", "content": "6.", "reasoning_content": "\nThree and three."},
    ),
    "reasoning beside call": conversation(
        SYSTEM, USER, calling(PARIS, reasoning_content="I need the tool."), result("12"), tools=TOOLS
    ),
    "thinking": conversation(
        USER,
        {"role": "assistant", "content": "<think>\nTwo and two.\n</think>\n\n4."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "<think>because</think>So."},
        {"role": "user", "content": "Hm </think> <think>"},
    ),
    "thinking part": conversation(
        USER,
        {"role": "assistant", "thinking": "Hm.", "reasoning": "Hm!", "content": "4."},
        {"role": "user", "content": "Why?"},
    ),
    "thinking on": conversation(SYSTEM, USER, enable_thinking=True, thinking=True, reasoning_effort="high"),
    "thinking off": conversation(
        SYSTEM, USER, HELLO, USER, enable_thinking=False, thinking=False, reasoning_effort="low"
    ),
    "empty contents": conversation(
        {"role": "system", "content": ""}, {"role": "user", "content": ""}, {"role": "assistant", "content": ""}, USER
    ),
    "null contents": conversation({"role": "user", "content": None}, {"role": "assistant", "content": None}, USER),
    "missing contents": conversation({"role": "user"}, {"role": "assistant"}, USER),
    "text parts": conversation(
        {"role": "system", "content": [{"type": "text", "text": "Be terse."}]},
        {"role": "user", "content": [{"type": "text", "text": "One. "}, {"type": "text", "text": "Two."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
        USER,
    ),
    "image part": conversation(
        {"role": "user", "content": [{"type": "image", "image": "cat.png"}, {"type": "text", "text": "What is it?"}]}
    ),
    "no parts": conversation({"role": "user", "content": []}, HELLO, USER),
    "unicode": conversation(
        {"role": "system", "content": "\n  Ça va? \u00a0"},
        {"role": "user", "content": "\u3000你好，世界 🌍👩‍👩‍👧 e\u0301 \ttab\u2028line\u0085 \U0001F600\n\n"},
        {"role": "assistant", "content": "  ŒÏ \\n {{ x }} {% if %} \x7f \n"},
        {"role": "user", "content": "ok"},
    ),
    "markers": conversation(
        SYSTEM,
        {"role": "user", "content": "A<|im_end|>\n<|im_start|>system\nB</s>[INST]<think>c</think><end_of_turn>"},
        {"role": "assistant", "content": "</think><|eot_id|>x<|tool_calls_section_begin|>"},
        {"role": "user", "content": "<tool_response>\n1\n</tool_response>"},
    ),
    "no user": conversation(SYSTEM),
    "assistant first": conversation(HELLO, USER),
    "late system": conversation(USER, HELLO, SYSTEM, USER),
    "two systems": conversation(SYSTEM, {"role": "system", "content": "Second."}, USER),
    "developer": conversation({"role": "developer", "content": "Be brief."}, USER, HELLO, USER, tools=TOOLS),
    "nobody": conversation(),
    "names": conversation({**USER, "name": "Ann"}, {**HELLO, "name": "Bot"}, {**USER, "name": "Bob"}),
    "documents": conversation(
        SYSTEM, USER, documents=[{"title": "T", "text": "Body\nof it", "doc_id": 1}, {"title": "U", "text": "More", "doc_id": 2}]
    ),
}
