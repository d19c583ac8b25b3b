const BEGIN_ANSWER = '{% if add_generation_prompt %}';

/** A template that writes every turn in the same form, and then begins the assistant's. */
function turns(turn: string, answer: string): string {
  return `{% for message in messages %}${turn}{% endfor %}${BEGIN_ANSWER}{{ ${answer} }}{% endif %}`;
}

/**
 * Templates that have a name in llama.cpp, and may be given by it. Its converter writes RWKV World's into the file this
 * way if it does not find the template itself. The model ends its turns with an empty line.
 */
export const NAMED_TEMPLATES: Readonly<Record<string, string>> = {
  chatml: turns(
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
    "'<|im_start|>assistant\\n'",
  ),
  llama3: turns(
    "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}",
    "'<|start_header_id|>assistant<|end_header_id|>\\n\\n'",
  ),
  'command-r':
    "{% set names = {'system': '<|SYSTEM_TOKEN|>', 'user': '<|USER_TOKEN|>', 'assistant': '<|CHATBOT_TOKEN|>'} %}" +
    turns(
      "{{ '<|START_OF_TURN_TOKEN|>' + names[message.role] + message.content | trim + '<|END_OF_TURN_TOKEN|>' }}",
      "'<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'",
    ),
  phi3: turns("{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}", "'<|assistant|>\\n'"),
  zephyr: turns(
    "{{ '<|' + message.role + '|>\\n' + message.content + '<|endoftext|>\\n' }}",
    "'<|assistant|>\\n'",
  ),
  'rwkv-world':
    "{% set names = {'system': 'System', 'user': 'User', 'assistant': 'Assistant'} %}" +
    turns("{{ names[message.role] + ': ' + message.content | trim + '\\n\\n' }}", "'Assistant:'"),
};
