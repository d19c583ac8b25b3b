import assert from 'node:assert/strict';
import { setTimeout as passed } from 'node:timers/promises';
import { endpointAttacks } from '../support/endpoint-attacks.ts';
import type { Deeds } from './deeds.ts';

const POLL_MS = 50;
const MODEL = 'minimind2';

/** Requests whose clients leave before they are answered, for each of the newer protocols; none of them is kept. */
const LEFT = [
  ['/v1/responses', { input: 'Name three colours.', max_output_tokens: 60, store: false, stream: true }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 60, stream: true }],
  ['/api/chat', { messages: [{ role: 'user', content: 'Hello!' }], options: { num_predict: 60 } }],
  ['/api/generate', { prompt: 'Hello!', options: { num_predict: 60 } }],
  ['/completion', { prompt: 'Once upon a time', n_predict: 60, stream: true }],
  ['/v1/completions', { prompt: ['One', 'Two', 'Three'], max_tokens: 40 }],
  ['/tokenize', { content: 'word '.repeat(2000) }],
  ['/slots/0?action=erase', {}],
] as const;

interface Told {
  readonly id: string;
  readonly status?: string;
  readonly processing_status?: string;
  readonly output_file_id?: string;
  readonly tokens?: readonly number[];
  readonly content?: string;
  readonly reason?: string;
  readonly error?: { readonly reason: string } | string | null;
}

/** What clients do with what a server keeps, and attacks on those endpoints; each removes what it has created. */
export function keepingDeeds(url: string, below: (count: number) => number): Deeds {
  const to = async (path: string, init: RequestInit): Promise<Told> => {
    const response = await fetch(url + path, init);
    return (await response.json()) as Told;
  };
  const post = (path: string, body: object): Promise<Told> => {
    const headers = { 'content-type': 'application/json' };
    return to(path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const until = async (path: string, isOver: (told: Told) => boolean): Promise<Told> => {
    for (;;) {
      const told = await to(path, {});
      if (isOver(told)) return told;
      await passed(POLL_MS);
    }
  };
  const remove = (path: string) => to(path, { method: 'DELETE' });
  // Those that are carried out keep what they send.
  const attacks = endpointAttacks(MODEL).filter(({ code }) => code !== undefined && code !== 'STORE_FULL');
  const short = () => ({ input: 'Name three colours.', max_output_tokens: 1 + below(20) });
  return {
    async kept() {
      const { id } = await post('/v1/conversations', { items: [] });
      const first = await post('/v1/responses', { ...short(), conversation: id });
      assert.equal((await to(`/v1/responses/${first.id}`, {})).id, first.id);
      await remove(`/v1/responses/${first.id}`);
      assert.equal((await remove(`/v1/conversations/${id}`)).id, id);
    },
    async background() {
      const { id } = await post('/v1/responses', { ...short(), background: true });
      if (below(3) === 0) await post(`/v1/responses/${id}/cancel`, {});
      const path = `/v1/responses/${id}`;
      const { status } = await until(
        path,
        (told) => told.status !== 'queued' && told.status !== 'in_progress',
      );
      assert.ok(['completed', 'incomplete', 'cancelled'].includes(status ?? ''), status);
      await remove(path);
    },
    async batch() {
      const messages = [{ role: 'user', content: 'Hello!' }];
      const body = { model: MODEL, messages, max_tokens: 1 + below(10) };
      const lines = Array.from({ length: 1 + below(6) }, (_, index) =>
        JSON.stringify({ custom_id: `${index}`, method: 'POST', url: '/v1/chat/completions', body }),
      );
      const form = new FormData();
      form.append('purpose', 'batch');
      form.append('file', new Blob([lines.join('\n')]), 'in.jsonl');
      const { id: input_file_id } = await to('/v1/files', { method: 'POST', body: form });
      const asked = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' };
      const { id } = await post('/v1/batches', asked);
      const done = await until(
        `/v1/batches/${id}`,
        ({ status }) => status === 'completed' || status === 'failed',
      );
      const output = await (await fetch(`${url}/v1/files/${done.output_file_id}/content`)).text();
      assert.equal(output.trim().split('\n').length, lines.length, 'each line has its answer');
      await remove(`/v1/files/${done.output_file_id}`);
      await remove(`/v1/files/${input_file_id}`);
    },
    async messages() {
      const params = { model: MODEL, max_tokens: 4, messages: [{ role: 'user', content: 'Hello!' }] };
      const requests = Array.from({ length: 3 }, (_, index) => ({ custom_id: `c${index}`, params }));
      const path = `/v1/messages/batches/${(await post('/v1/messages/batches', { requests })).id}`;
      await until(path, (told) => told.processing_status === 'ended');
      const results = await (await fetch(`${url}${path}/results`)).text();
      assert.equal(results.trim().split('\n').length, requests.length);
      await remove(path);
    },
    async tokens() {
      const content = `word ${below(1000)} and more`;
      const { tokens } = await post('/tokenize', { content });
      assert.equal((await post('/detokenize', { tokens })).content?.trim(), content);
    },
    async resumed() {
      const name = `soak-${below(2 ** 31)}`;
      const leaving = new AbortController();
      const headers = { 'content-type': 'application/json', 'x-conversation-id': name };
      const body = JSON.stringify({ prompt: 'Once', max_tokens: 1 + below(40), stream: true });
      const init = { method: 'POST', headers, body, signal: leaving.signal };
      const reader = (await fetch(`${url}/v1/completions`, init)).body?.getReader();
      await reader?.read();
      leaving.abort();
      await reader?.cancel().catch(() => undefined);
      const kept = `${url}/v1/stream?conv_id=${name}`;
      const answer = await fetch(`${kept}&from=0`);
      // It has gone on without its client, unless so many go on that none more is kept.
      if (answer.status !== 404) assert.ok((await answer.text()).endsWith('data: [DONE]\n\n'));
      await fetch(kept, { method: 'DELETE' });
    },
    async gone() {
      const [path, asked] = LEFT[below(LEFT.length)] as (typeof LEFT)[number];
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ model: MODEL, ...asked }) };
      await fetch(url + path, { ...init, signal: AbortSignal.timeout(1 + below(150)) })
        .then((response) => response.text())
        .catch(() => undefined);
    },
    async attacked() {
      const attack = attacks[below(attacks.length)];
      assert.ok(attack);
      const { name, path, body, type = 'application/json', code } = attack;
      const { error, reason } = await to(path, { method: 'POST', headers: { 'content-type': type }, body });
      assert.equal(typeof error === 'object' ? error?.reason : reason, code, name);
    },
  };
}
