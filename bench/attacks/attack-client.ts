/** An attack as sent over the network. */
export interface AttackRound {
  readonly url: string;
  readonly path: string;
  readonly body: string;
  /** Its content type. Default: JSON. */
  readonly type: string | undefined;
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

async function attack({ url, path, body, type = 'application/json' }: AttackRound): Promise<AttackResult> {
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
