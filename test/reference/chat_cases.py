"""chat_cases.py [FILE]: templates in the dialect of the published ones, and what transformers renders from them.

FILE (tokenizers/chat.json) is a list: "name", "template", and "cases" with "messages", "generates" (add_generation_prompt), and "text" and the
bytes "generated" of the generation statements, or "error" (true). bos_token is <s>, eos_token is </s>, strftime_now() is 2024-07-06 12:34:56. The file
chat-rows.json beside it has the "ids" of each conversation by the template "generation" and the tokenizer qwen2, and
"answers", 1 for each token of an answer. The file chat-conversations.json has the "text" of each "conversation", whose
members are those of a data set of TRL, by the template "members" (in the file) and by that of Qwen2.
"""

import datetime
import json
import sys
from pathlib import Path

from transformers import AutoTokenizer
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATES = {
    "chatml": """{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "generation": """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {% generation %}{{ message.content }}<|im_end|>{% endgeneration %}
    {%- else %}
        {{- message.content + '<|im_end|>' }}
    {%- endif %}
    {{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen2": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}{{ tools | tojson }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen3": """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + content }}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "llama3": """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "llama31": """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message, if there is one. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("one call at a time") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "mistral": """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}""",
    "mistral-v3": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
        {%- if message == user_messages[-1] %}{{- "!" }}{%- endif %}
    {%- elif message["role"] == "assistant" and message.content %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    # As the template of Granite.
    "granite": """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set system_message = "Knowledge Cutoff Date: April 2024.\\nToday's Date: " + strftime_now('%B %d, %Y') + ".\\nYou are Granite." %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if strftime_now is defined %}{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}{%- endif %}
{%- for message in loop_messages %}
    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_of_role|>assistant<|end_of_role|>' }}
{%- endif %}
""",
    "macros": """{% set outer = 'o' %}{% set ns = namespace(count=0) %}
{%- macro render(message, prefix='<', suffix=prefix ~ '>') -%}
    {% set ns.count = ns.count + 1 %}
    {{- prefix + message.role + suffix }}{{ inner | default('none') }}{{ outer }}{{ later }}
{%- endmacro %}
{%- macro list(n) %}{% if n > 0 %}{{ n }},{{ list(n - 1) }}{% endif %}{% endmacro %}
{%- set later = 'l' %}
{%- for message in messages %}{% set inner = 'loop' %}
{{ render(message) }}|{{ render(message, suffix='!') }}|{{ render(message, '(', ')') | upper }}|{{ render({'role': 'x'}) | length }}
{% endfor %}
{{ list(4) }}{{ ns.count }} {{ render is defined }} {{ absent is defined }} {{ range is defined }} {{ raise_exception is undefined }} {{ strftime_now('') }}{{ strftime_now("%Y-%m-%d %H:%M") }}
{% if messages | length > 3 %}{{ render() }}{% endif %}{% if messages | length == 3 %}{{ render(1, 2, 3, 4) }}{% endif %}{% if messages | length == 5 %}{{ render(none, x=1) }}{% endif %}
""",
    # The rest of the language.
    "statements": """{# comment #}
  {% set x %}
block {{ messages | length }}
  {% endset %}
{{ x | trim }}|{%- for m in messages if m.role != 'system' -%}
  {{ loop.index }}/{{ loop.length }}{{ loop.revindex0 }}{{ ',' if not loop.last else '.' }}
{%- else %} empty {% endfor %}
	{%+ if true %} kept {% endif +%}
{% for i in range(1, 9, 2) %}{% if i == 3 %}{% continue %}{% endif %}{% if i > 6 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for k, v in {'a': 1, "b": [2, 3]}.items() %}{{ k }}={{ v | tojson }};{% endfor %}
{% for m in [] %}{% else %}none{% endfor %}
""",
    "expressions": """{{ 1 + 2 * 3 - 4 // 3 % 2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 1.0 }} {{ 2.5 * 2 }} {{ 'a' ~ 1 ~ none ~ true }} {{ 'x' 'y' }}
{{ 1 < 2 and 2 <= 2 and not 3 == 4 or false }} {{ 'a' in 'cat' }} {{ 3 not in [1, 2] }} {{ 'k' in {'k': 1} }} {{ missing or 'other' }} {{ (1, 2)[1] }}
{{ 'A b'.lower() }} {{ 'a b c'.split() | join('-') }} {{ 'a,b,c'.split(',', 1)[1] }} {{ 'xxhixx'.strip('x') }} {{ 'abc'[1:] }} {{ 'abc'[-1] }} {{ 'h\u00e9llo'[::-1] }}
{{ 'some text' | title }} {{ 'some text' | capitalize }} {{ 'a' | upper }} {{ ' x ' | trim }} {{ [1, 2, 3] | first }} {{ [1, 2] | last }} {{ missing | default('d') }} {{ '' | default('d', true) }}
{{ [1, 2, 3][1:] | length }} {{ {'a': none, 'b': 1.5, 'c': [], 'd': '\\"\\n\u00e9'} | tojson }} {{ [1, {'a': 2}] | tojson(indent=2) }} {{ messages | map(attribute='role') | join(' ') }}
{{ 3 is odd }} {{ none is none }} {{ missing is undefined }} {{ 'x' is string }} {{ {} is mapping }} {{ 2 is number }} {{ true is boolean }} {{ 1 is not defined }} {{ [1] is iterable }}
{{ messages[0].get('role', 'x') }} {{ messages[0].get('absent', 'x') }} {{ messages[0]['absent'] is defined }} {{ 'replace me'.replace('me', 'you') }} {{ 'replace' | replace('e', 'E') }} {{ '5' | int + 1 }} {{ "it's" | string }}
""",
}

CONVERSATIONS = [
    [{"role": "user", "content": "  Hello? "}],
    [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day.\n"}],
    [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"},
     {"role": "user", "content": "水門は?"}, {"role": "assistant", "content": "<think>\nHm\n</think>\n\n\U0001f600 ok"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"x": 1.5, "y": ["\u00e9", None]}}}]},
     {"role": "tool", "content": "3"}, {"role": "assistant", "content": "three"}],
    [{"role": "assistant", "content": "first"}],
]


MEMBERS = """{{ bos_token }}{% if tools %}T{{ tools | tojson }}{% endif %}{% if documents %}D{% for d in documents %}{{ d.title }}:{{ d.text }};{% endfor %}{% endif %}
{% if enable_thinking is defined %}E{{ enable_thinking }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ 'null' if m.content is none }}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.name }}
{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{{ m.tool_call_id }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": {"x": 1, "y": [2, None]}}}
TOOL = {"type": "function", "function": {"name": "add", "description": "sum \u00e9", "parameters": {"type": "object", "properties": {}}}}
ROWS = [
    {"messages": CONVERSATIONS[1]},
    {"messages": CONVERSATIONS[2], "tools": [TOOL]},
    {"messages": CONVERSATIONS[2], "tools": json.dumps([TOOL])},
    {"messages": CONVERSATIONS[2], "tools": None, "documents": None, "chat_template_kwargs": {}},
    {"messages": CONVERSATIONS[1], "documents": [{"title": "a", "text": "b"}], "chat_template_kwargs": {"enable_thinking": False}},
    {"messages": [{"role": "user", "content": "a", "name": None}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
                  {"role": "tool", "content": "3", "tool_call_id": "c1", "tool_calls": None}, {"role": "assistant", "content": "three"}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "", "tool_calls": [
        {**CALL, "function": {"name": "add", "arguments": json.dumps(CALL["function"]["arguments"])}}]}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "reasoning": "r", "content": "b"}, {"role": "user", "content": "a"},
                  {"role": "assistant", "thinking": "t", "content": "b"}]},
]


def conversation_text(tokenizer, row, template):
    """As the SFTTrainer of TRL."""
    tools = json.loads(row["tools"]) if isinstance(row.get("tools"), str) else row.get("tools")
    tokenizer.chat_template = template
    return tokenizer.apply_chat_template(row["messages"], tools=tools, tokenize=False, documents=row.get("documents"),
                                         **row.get("chat_template_kwargs") or {})


class Clock(datetime.datetime):
    """The time of strftime_now()."""

    @classmethod
    def now(cls):
        return datetime.datetime(2024, 7, 6, 12, 34, 56)


def main():
    chat_template_utils.datetime = Clock
    out = []
    for name, template in TEMPLATES.items():
        cases = []
        for messages in CONVERSATIONS:
            for generates in (False, True):
                case = {"messages": messages, "generates": generates}
                try:
                    has_generation = "{% generation %}" in template
                    texts, spans = render_jinja_template([messages], chat_template=template, add_generation_prompt=generates, bos_token="<s>",
                                                         eos_token="</s>", return_assistant_tokens_mask=has_generation)
                    case["text"] = texts[0]
                    # Characters to bytes.
                    case["generated"] = [[len(texts[0][:i].encode()) for i in span] for span in spans[0]] if has_generation else []
                except Exception:
                    case["error"] = True
                cases.append(case)
        out.append({"name": name, "template": template, "cases": cases})
    tokenizers = Path(__file__).parent / "tokenizers"
    path = Path(sys.argv[1] if len(sys.argv) > 1 else tokenizers / "chat.json")
    path.write_text(json.dumps(out, ensure_ascii=False, indent=0) + "\n")
    tokenizer = AutoTokenizer.from_pretrained(tokenizers / "qwen2")
    tokenizer.chat_template = TEMPLATES["generation"]
    rows = []
    for messages in CONVERSATIONS:
        encoded = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
        rows.append({"messages": messages, "ids": encoded["input_ids"], "answers": encoded["assistant_masks"]})
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.with_name("chat-rows.json").write_text(f"[\n{lines}\n]\n")
    tokenizer.bos_token = "<s>"
    lines = ",\n".join(json.dumps({"conversation": row, "members": conversation_text(tokenizer, row, MEMBERS),
                                   "qwen2": conversation_text(tokenizer, row, TEMPLATES["qwen2"])}, ensure_ascii=False) for row in ROWS)
    path.with_name("chat-conversations.json").write_text(f'{{"template": {json.dumps(MEMBERS)}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
