#!/usr/bin/env python3
"""Writes chats.json: chat templates in the forms that models are published with, and what Jinja makes of them in the
environment that Hugging Face sets up. Needs Debian's python3-jinja2."""

import json
from pathlib import Path

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

TEMPLATES = {
    "chatml": """{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "llama2": """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama3": """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "mistral": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("roles must alternate") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    "qwen2": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "blocks": """{# a comment #}
  {% for message in messages %}
    {% if loop.first %}
first
    {% elif loop.last -%}
       last
    {%+ endif %}
  {{ loop.index }}/{{ loop.length }} {{ loop.revindex }}: {{ message.role | upper }}
  {%- endfor +%}

end {{ 'x' }}
""",
    "expressions": """{{ 1 + 2 * 3 - 4 // 3 ** 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 1e3 }} {{ 2.50 }} {{ 1 ~ 'a' ~ none ~ true }}
{{ [1, 'a"b', "it's", none, 2.0, [], {}] }} {{ {'a': 1, 'b': [true]} }} {{ {'a': {'b': {}}}|tojson }} {{ [1, 2]|tojson(indent=2) }}
{{ 'abcdef'[1:4] }}{{ 'abcdef'[::-1] }}{{ 'abcdef'[-2:] }}{{ 'abcdef'[:-2] }}{{ [1, 2, 3, 4][1:3] }}{{ 'abc'[5:] }}{{ 'abcdef'[10:0:-2] }}
{{ 'a' in 'abc' }} {{ 'z' not in 'abc' }} {{ 2 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 1 < 2 <= 2 }} {{ 1 < 3 < 2 }} {{ not true or false }}
{{ x is defined }} {{ x is not defined }} {{ none is none }} {{ 'a' is string }} {{ 3 is odd }} {{ messages is iterable }} {{ {} is mapping }}
{{ 'yes' if messages else 'no' }} {{ 'only' if false }} {{ x|default('d') }} {{ ''|default('e', true) }} {{ (x.y is defined) if (x is defined) else 'u' }}
{{ ' a b '|trim }}{{ 'AbC'|lower }}{{ 'abc def'|title }}{{ 'hello'|capitalize }}{{ 'aXbX'|replace('X', '-') }}{{ [3, 1]|join(', ') }}{{ 'abc'|length }}
{{ messages|map(attribute='role')|list }} {{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'eq', 'user')|map(attribute='role')|join(' ') }}
{{ ' x '.strip() }}|{{ 'a,b,c'.split(',') }}|{{ 'a  b c'.split() }}|{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'a-b'.replace('-', '+') }}|{{ 'x'.join(['1', '2']) }}|{{ 'abc'.upper() }}
{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{% for i in range(3) %}{{ i }}{% if i == 1 %}{% break %}{% endif %}{% endfor %}{% for i in [] %}{% else %}empty{% endfor %}{% for i in range(5) if i is even %}{{ i }}{% endfor %}
{{ {'a': 1}.get('b', 'none') }} {{ messages[0].get('nothing') }} {{ [[1, 2], [3]]|first }} {{ 'a\\nb\\tc\\u00e9' }} {{ (1, 2)|last }} {{ '3'|int + 1 }} {{ 'abc'|list }} {{ -3|abs }}
{{ 'line\\nnext'|indent(2) }} {{ "é" ~ 'ü'|length }} {{ [1, 1, 2]|unique|list }} {{ 'abc'|reverse }} {{ [1]*3 }} {{ 'ab' * 2 }} {{ ('a' 'b') }}
""",
    "scopes": """{% set a = 1 %}{% for m in messages %}{% set a = a + 1 %}{{ a }}{% endfor %}{{ a }}{% set ns = namespace(found=false, n=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}{% endif %}{% set ns.n = ns.n + loop.index %}{% endfor %}{{ ns.found }}{{ ns.n }}
{%- macro item(text, mark='*') %}
{{ mark }} {{ text }}
{% endmacro -%}
{{ item('one') }}{{ item('two', '-') }}{{ item(mark='+', text='three') }}{% set block %}in {{ a }} block{% endset %}{{ block | upper }}{% set p, q = 'x', 'y' %}{{ q ~ p }}
{% generation %}kept{% endgeneration %}

{{ loop is defined }}
""",
}

CHATS = [
    [{"role": "user", "content": "Hello <|im_end|> there\n"}],
    [{"role": "system", "content": "Be \"brief\"."}, {"role": "user", "content": "  Ünïcode 字 \U0001f600 "},
     {"role": "assistant", "content": " yes\\no "}, {"role": "user", "content": "{{ 1 }}</s>"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": ""}],
]


def refuse(message):
    raise jinja2.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


class Generation(jinja2.ext.Extension):
    """The tag that marks what an assistant wrote; its text is kept."""
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def main():
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=["jinja2.ext.loopcontrols", Generation])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = refuse
    cases = []
    for name, source in TEMPLATES.items():
        for messages in CHATS:
            for more in ({}, {"tools": [{"name": "f", "args": {"x": 1.5, "s": "é\n"}}]}) if name == "qwen2" else ({},):
                context = {"messages": messages, "add_generation_prompt": len(messages) != 3, "bos_token": "<s>",
                           "eos_token": "</s>", **more}
                try:
                    expected = {"text": environment.from_string(source).render(**context)}
                except jinja2.TemplateError as error:
                    expected = {"refused": str(error)}
                cases.append({"name": name, "context": context, **expected})
    file = {"templates": TEMPLATES, "cases": cases}
    Path(__file__).with_name("chats.json").write_text(json.dumps(file, indent=1, ensure_ascii=False) + "\n")


main()
