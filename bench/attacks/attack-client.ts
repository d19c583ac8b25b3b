import type { BodyAttack } from '../../tests/support/body-attacks.ts';
import { type AttackLimits, attackList } from './attack-list.ts';

/** An attack to carry out, by its number in the list of these limits. */
export interface AttackRound {
  readonly url: string;
  readonly at: number;
  readonly limits: AttackLimits;
}

/** The outcome. */
export interface AttackResult {
  /** The finish reason, or the error's code. */
  readonly answer: string;
  readonly ms: number;
  /** The slowest response of `/health` meanwhile, in milliseconds, and the number of its requests. */
  readonly health: number;
  readonly asked: number;
}

interface Answer {
  readonly error?: { readonly reason: string } | string | null;
  readonly reason?: string;
  readonly choices?: readonly { readonly finish_reason: string }[];
}

let attacks: readonly BodyAttack[] | undefined;

async function attack({ url, at, limits }: AttackRound): Promise<AttackResult> {
  attacks ??= attackList(limits);
  const { path, body, type = 'application/json' } = attacks[at] as BodyAttack;
  const begin = performance.now();
  let isOver = false;
  const headers = { 'content-type': type };
  const sent = fetch(`${url}${path}`, { method: 'POST', headers, body });
  const answered = sent.then(async (response) => {
    const { error, reason, choices } = (await response.json()) as Answer;
    const code = typeof error === 'object' ? error?.reason : reason;
    const answer = `${response.status} ${code ?? choices?.[0]?.finish_reason}`;
    isOver = true;
    return { answer, ms: performance.now() - begin };
  });
  let [health, asked] = [0, 0];
  do {
    const asking = performance.now();
    await (await fetch(`${url}/health`)).text();
    health = Math.max(health, performance.now() - asking);
    asked++;
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- Set above, meanwhile.
  } while (!isOver);
  return { ...(await answered), health, asked };
}

process.on('message', (round) => void attack(round as AttackRound).then((result) => process.send?.(result)));
