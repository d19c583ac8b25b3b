import { Agent, request } from 'node:http';

/** A complete response. Times are those of `performance.now()`. */
export interface Reply {
  readonly status: number;
  readonly began: number;
  readonly ended: number;
  /** When each piece of the body arrived. */
  readonly arrivals: readonly number[];
  readonly bytes: number;
  /** Server-sent events with a JSON object as their data. */
  readonly events: number;
}

const kept = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const EVENT = Buffer.from('data: {');

function eventsIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(EVENT); at >= 0; at = chunk.indexOf(EVENT, at + EVENT.length)) count++;
  return count;
}

/** Sends JSON, or a GET request without a body, on a kept-alive connection; counts events without parsing them. */
export function sendRequest(url: string, body?: string): Promise<Reply> {
  const began = performance.now();
  const isSent = body !== undefined;
  const headers = isSent
    ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    : {};
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: isSent ? 'POST' : 'GET', agent: kept, headers }, (response) => {
      const arrivals: number[] = [];
      let [bytes, events] = [0, 0];
      response.on('data', (chunk: Buffer) => {
        arrivals.push(performance.now());
        events += eventsIn(chunk);
        bytes += chunk.length;
      });
      response.on('end', () => {
        const { statusCode: status = 0 } = response;
        resolve({ status, began, ended: performance.now(), arrivals, bytes, events });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
