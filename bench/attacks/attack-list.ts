import { type BodyAttack, bodyAttacks } from '../../tests/support/body-attacks.ts';
import { endpointAttacks } from '../../tests/support/endpoint-attacks.ts';
import { grammarAttacks } from '../../tests/support/grammar-attacks.ts';

/** What the attacks depend on. */
export interface AttackLimits {
  /** Positions of the model's context. */
  readonly context: number;
  /** Maximum tokens of an answer. */
  readonly tokens: number;
}

const CHAT = '/v1/chat/completions';

/** The attacks on a server with the model `model`; the first is none. */
export function attackList({ context, tokens }: AttackLimits): BodyAttack[] {
  const request = {
    messages: [{ role: 'user', content: 'Write something.' }],
    max_tokens: tokens,
    seed: 1,
  };
  const plain = {
    name: 'none: [a-z ]+',
    path: CHAT,
    body: JSON.stringify({ ...request, guided_regex: '[a-z ]+' }),
  };
  const grammars: BodyAttack[] = grammarAttacks(request).map((attack) => ({ path: CHAT, ...attack }));
  return [plain, ...bodyAttacks(context), ...endpointAttacks('model'), ...grammars];
}
