#!/usr/bin/env python3
"""Writes chats.json and snippets.json: chat templates in the forms that models are published with, and templates of one construct, with what Jinja makes of them in the
environment that Hugging Face sets up. Needs Debian's python3-jinja2."""

import json
import sys
from pathlib import Path

import jinja2

sys.path.insert(0, str(Path(__file__).parents[2] / "Fuzz" / "Templates"))
import jinja_environment
from snippets import SNIPPETS

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
    # An answer's reasoning stays only behind the last question, which a walk from the end finds.
    "reasoning": """{%- set place = namespace(searching=true, question=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if place.searching and message.role == "user" and message.content is string and not (message.content.startswith('<result>') and message.content.endswith('</result>')) %}
        {%- set place.searching = false %}
        {%- set place.question = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set said = message.content %}
    {%- else %}
        {%- set said = '' %}
    {%- endif %}
    {%- if message.role == 'assistant' %}
        {%- set thought = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thought = message.reasoning_content %}
        {%- elif '</think>' in said %}
            {%- set thought = said.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set said = said.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > place.question and (loop.last or thought) %}
            {{- '<turn>' + message.role + '\n<think>\n' + thought.strip('\n') + '\n</think>\n\n' + said.lstrip('\n') }}
        {%- else %}
            {{- '<turn>' + message.role + '\n' + said }}
        {%- endif %}
    {%- else %}
        {{- '<turn>' + message.role + '\n' + said }}
    {%- endif %}
    {{- '</turn>\n' }}
    {%- if loop.previtem is defined and loop.previtem.role == message.role %}{{- '(again)' }}{% endif %}
    {%- if loop.nextitem is undefined %}{{- '(end)' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<turn>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{% endif %}
{%- endif %}
""",
    # Content is a text or a list of parts.
    "parts": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set before = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set before = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set before, rest = "", messages -%}
{%- endif -%}
{%- for message in rest -%}
    {{- '<' ~ ('model' if message['role'] == 'assistant' else message['role']) ~ '>' ~ (before if loop.first else "") -}}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable and message['content'] is not mapping -%}
        {%- for part in message['content'] -%}
            {%- if part['type'] in ('image', 'picture') -%}
                {{ '<image>' }}
            {%- elif part.type == 'text' -%}
                {{ part['text'] | trim }}
            {%- else -%}
                {% continue %}
            {%- endif -%}
            {{ loop.index }}
        {%- endfor -%}
        {{ message['content'] | selectattr('type', 'equalto', 'text') | map(attribute='text') | map('upper') | join('/') }}
        {{- message['content'] | rejectattr('text', 'defined') | list | count }}
    {%- else -%}
        {{ raise_exception("no such content") }}
    {%- endif -%}
    {{ '\n' }}
{%- endfor -%}
""",
    # Macros within macros, members of an object, a date.
    "channels": """{%- macro kind(spec) -%}
    {%- if spec is string -%}
        {{- spec -}}
    {%- elif spec is mapping and spec.of -%}
        {{- kind(spec.of) + "[]" -}}
    {%- elif spec is sequence -%}
        {%- for one in spec -%}{{- kind(one) }}{{ " | " if not loop.last else "" }}{%- endfor -%}
    {%- else -%}
        any
    {%- endif -%}
{%- endmacro -%}
{%- macro fields(object, open="{", close="}") -%}
    {{- open + "\n" }}
    {%- for name, spec in object.items() %}
        {{- "  " ~ name ~ ": " ~ kind(spec) ~ ",\n" }}
    {%- endfor %}
    {{- close }}
{%- endmacro -%}
{{- "Date: " + strftime_now("%Y-%m-%d, %d %B") + "\n" }}
{{- fields({"name": "text", "tags": {"of": ["text", "none"]}, "rest": 3}) }}{{ fields({}, close=")", open="(") + "\n" }}
{%- for message in messages %}
    {%- if "channel" in message %}{{ message["channel"] }}{% else %}{{ "final" }}{% endif %}
    {{- ":" ~ message.get("content", "nothing") | default("", true) ~ "|" ~ (message.name or "nobody") ~ "\n" }}
{%- endfor %}
""",
    # Blocks with names of their own, and what is made of a block's output.
    "blocks of text": """{% set outer = 1 %}{% set shown | trim | upper %}
  {% set outer = 2 %} some {{ outer }} text {% endset %}{{ shown }}{{ outer }}
{% filter replace('a', 'b') | capitalize %}banana{% endfilter %}
{% with outer = outer + 1, second = outer %}{{ outer }}{{ second }}{% set outer = 9 %}{% endwith %}{{ outer }}
{% for x in [] %}{% else %}{% set outer = 5 %}{% endfor %}{{ outer }}
{% macro framed(title) %}[{{ title }}: {{ caller() if caller is defined else 'no caller' }}]{% endmacro %}
{% for m in messages %}{% call framed(m.role) %}{{ m.content | length }}{{ loop.index }}{% endcall %}{% endfor %}{{ framed('x') }}
{% macro each(items) %}{% for item in items %}{{ caller(item, loop.index) }}{% endfor %}{% endmacro %}
{% call(item, number=0) each(['p', 'q']) %}{{ number }}{{ item }}{% endcall %}
{% for n in [1, 2] %}{% macro inner(left) %}{{ n }}{{ left }}{% if left > 0 %}{{ inner(left - 1) }}{% endif %}{% endmacro %}{{ inner(n) }};{% endfor %}
{% macro pair(a, b, c='-') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ pair(*['x', 'y']) }}{{ pair('x', *[1, 2]) }}{% set some = [pair] %}{{ some[0](*(3, 4), c='!') }}
{% generation %}{% set outer = 7 %}{{ outer }}{% endgeneration %}{{ outer }}
{% for k, v in {'b': 2, 'A': 3, 'c': 1} | dictsort %}{{ k }}{{ v }}{% endfor %}{% for k, v in {'b': 2, 'A': 3, 'c': 1} | dictsort(by='value', reverse=true) %}{{ k }}{{ v }}{% endfor %}{% for k, v in {'b': 2, 'A': 3} | dictsort(true) %}{{ k }}{% endfor %}
{{ [3, 1, 2] | sort }}{{ ['b', 'A', 'c'] | sort(reverse=true) }}{{ ['b', 'A'] | sort(case_sensitive=true) }}{{ messages | sort(attribute='role') | map(attribute='role') | join }}
{{ {'b': 'é😀\x7f', 'a': [1, {}]} | tojson(ensure_ascii=true, sort_keys=true) }}{{ {'b': [1, 2], 'a': []} | tojson(separators=(',', ':')) }}{{ {'b': [1, {'c': none}]} | tojson(indent=0) }}{{ [1] | tojson(indent=none) }}
{% set object = {'items': 1, 'other': 2} %}{{ object['items'] }}{{ object.items is defined }}{{ object.items() | length }}{{ object.nothing is defined }}{{ {}['items'] is defined }}{{ object | items | map('first') | join(',') }}
{{ messages | reject('in', []) | list | length }}{{ messages | map(attribute='nothing', default='-') | join }}{{ ['a', 'b'] | first }}{{ 'a-b-c'.split('-', 1) | last }}{{ 'xxabxx'.strip('x') }}{{ 'xxab'.lstrip('x') ~ 'abxx'.rstrip('x') }}
{{ (1, 'a') }}{{ (1,) }}{{ () }}{{ (1, 2) == [1, 2] }}{{ (1, 2, 3)[1:] }}{{ {'a': 1}.items() | list }}{{ {'b': 2} | dictsort }}{{ 1, 2 }}{{ [(1, 2)] | tojson }}
{{ namespace(a=1) }}{{ dict([['a', 1], ('b', 2)], c=3) }}{{ {'pop': 1}.pop is defined }}{{ {'pop': 1}['pop'] }}{{ {'a': 1}['update'] is defined }}{{ 3 * 'x' }}{{ 2 * [1] }}
{{ ['\u2028\u00a0\u200b\u00e9\u0001\x7f 字😀'] }}{{ [{'a': {'b': [7]}}] | map(attribute='a.b.0') | list }}{{ [{'a': {'b': 1}}, {'a': {}}] | selectattr('a.b', 'defined') | list }}{{ [{'a': {'b': 2}}, {'a': {'b': 1}}] | sort(attribute='a.b') }}
{{ 1 is lt 2 }}{{ 1 is ge 2 }}{{ 'b' is gt 'a' }}{{ 2 is le 2 }}{{ 'a-b'.removeprefix('a-') ~ 'a-b'.removesuffix('-b') ~ 'a'.removeprefix('abc') }}
{{ "straße élan ÑU it's" | upper }}{{ "ÉLAN ÑU" | lower }}{{ "it's a-b (élan)" | title }}{{ "it's a-b (élan)".title() }}{{ "ßa élan" | capitalize }}{{ 'éA'.upper() ~ 'ÉA'.lower() ~ 'ÉLAN'.capitalize() }}
""",
}

CHATS = [
    [{"role": "user", "content": "Hello <|im_end|> there\n"}],
    [{"role": "system", "content": "Be \"brief\"."}, {"role": "user", "content": "  Ünïcode 字 \U0001f600 "},
     {"role": "assistant", "content": " yes\\no "}, {"role": "user", "content": "{{ 1 }}</s>"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": ""}],
]
# The variable of the snippets, which the test has too.
PEOPLE = [{"name": "bo", "age": 3, "tags": ["x"]}, {"name": "Al", "age": 2}, {"name": "cy", "age": 3}]
THOUGHT = {"role": "assistant", "content": "<think>\nIt may\n</think>\n\nYes </think> no"}
# Further chats of some templates.
MORE = {
    "reasoning": [[CHATS[0][0], THOUGHT, {"role": "user", "content": "<result>1</result>"}, THOUGHT],
                  [CHATS[0][0], THOUGHT, CHATS[0][0], {"role": "assistant", "content": "b", "reasoning_content": "\nr\n"}]],
    "parts": [[{"role": "system", "content": [{"type": "text", "text": "Brief."}]},
               {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " Lo\u00f6k "}, {"type": "sound"}]}],
              [{"role": "user", "content": {"type": "text"}}]],
    "channels": [[{"role": "user", "content": "x", "name": "Ann"}, {"role": "assistant", "channel": "aside", "content": None}]],
}


def rendered(environment, source):
    """The text; None where Jinja refuses the template."""
    try:
        return environment.from_string(source).render(people=PEOPLE)
    except Exception:  # whatever Python raises
        return None


def main():
    environment = jinja_environment.environment()  # at the time that the test renders at
    cases = []
    for name, source in TEMPLATES.items():
        for messages in CHATS + MORE.get(name, []):
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
    lines = [json.dumps([source, rendered(environment, source)], ensure_ascii=False) for source in SNIPPETS]
    Path(__file__).with_name("snippets.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()
