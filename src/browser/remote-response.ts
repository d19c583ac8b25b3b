import { invariant } from '../base/errors.ts';
import type { UnsharedBytes } from '../base/web-types.ts';
import type { CallHandle, CallListener } from '../calls/index.ts';
import { TokenQueue } from '../runtime/token-queue.ts';
import type { ResponsePart } from './engine-calls.ts';

/** Statuses of responses that may have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** The response to a request that the engine's worker answers, by a call that `begin` starts. Its body is read as it arrives. */
export async function remoteResponse(
  begin: (listener: CallListener<ResponsePart, void>) => CallHandle,
): Promise<Response> {
  // The worker sends only as much as it has credit for, so the queue needs no limit.
  const queue = new TokenQueue<ResponsePart, void>(Number.POSITIVE_INFINITY);
  const calling = begin({
    value: (part) => queue.push(part),
    done: () => queue.end(),
    failed: (error) => queue.fail(error),
  });
  const first = await queue.read();
  calling.more();
  invariant('value' in first && 'status' in first.value, 'a response begins with its head');
  const { status, headers } = first.value;
  const body = new ReadableStream<UnsharedBytes>({
    async pull(controller) {
      const next = await queue.read();
      if ('end' in next) return controller.close();
      invariant(!('status' in next.value), 'a response has one head');
      calling.more();
      controller.enqueue(next.value);
    },
    cancel: () => calling.leave(),
  });
  return new Response(BODILESS.has(status) ? null : body, { status, headers: [...headers] });
}
