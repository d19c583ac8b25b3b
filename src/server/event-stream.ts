/** An event of a stream: its data, and its name if the API names events. */
export interface StreamEvent {
  readonly name?: string;
  readonly data: string;
}

/** Milliseconds without an event after which a comment keeps the connection alive. */
const PING_MS = 10_000;

/** How a stream that has no events is kept alive. */
interface PingOptions {
  readonly pingMs?: number;
  readonly isLines?: boolean;
  readonly ping?: StreamEvent | undefined;
}

/** The body of a response as text that comes piece by piece. */
export interface TextBody {
  /**
   * The next piece, or undefined at the end; it is requested once the client has taken the previous ones. Rejects if the
   * body breaks off.
   */
  next(): Promise<string | undefined>;
  /** Until the end, calls `send` with what keeps the connection alive while there are no pieces; false: there is no room. */
  keepAlive(send: (text: string) => boolean): void;
  /** The client is gone. */
  leave(): Promise<void>;
}

/** A request's connection, which takes and gives bodies by cheaper means than the streams of the Fetch API. */
export interface Connection {
  /** The bytes of the request's body. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Calls a function when the client goes before it has its response; at once if it is gone. */
  onGone(listener: () => void): void;
  /** Gives it the body to send with the response, which then has none of its own. At most once. */
  send(body: TextBody): void;
}

/**
 * A response that sends events as they occur (server-sent events, WHATWG HTML section 9.2), and comments while there
 * are none, or `ping` where an API has such an event. The next event is requested once the client has taken the previous ones; when the client disconnects,
 * `leave` is called and the events end. With `isLines` each event is a line of JSON (NDJSON). Where a connection is
 * given, it sends them.
 */
export function eventStream(
  events: AsyncGenerator<StreamEvent, void>,
  leave: () => void,
  { connection, ...how }: PingOptions & { readonly connection?: Connection | undefined } = {},
): Response {
  const body = new EventBody(events, leave, how);
  const headers = streamHeaders(how.isLines ? 'application/x-ndjson' : 'text/event-stream; charset=utf-8');
  if (!connection) return new Response(streamOf(body), { headers });
  connection.send(body);
  return new Response(null, { headers });
}

/** Events as text. */
class EventBody implements TextBody {
  readonly #events: AsyncGenerator<StreamEvent, void>;
  readonly #leave: () => void;
  readonly #how: PingOptions;
  #pinging: ReturnType<typeof setInterval> | undefined;
  #sentAt = performance.now();

  constructor(events: AsyncGenerator<StreamEvent, void>, leave: () => void, how: PingOptions) {
    this.#events = events;
    this.#leave = leave;
    this.#how = how;
  }

  async next(): Promise<string | undefined> {
    let isOver = true;
    try {
      const { done, value } = await this.#events.next();
      if (done) return undefined;
      isOver = false;
      this.#sentAt = performance.now();
      return this.#how.isLines ? `${value.data}\n` : eventText(value);
    } finally {
      if (isOver) clearInterval(this.#pinging);
    }
  }

  keepAlive(send: (text: string) => boolean): void {
    const { isLines, ping, pingMs = PING_MS } = this.#how;
    // Lines of JSON have no comments.
    if (isLines) return;
    const text = ping ? eventText(ping) : ': ping\n\n';
    // A timer for the whole stream, since one for each event costs as much as the event.
    this.#pinging = setInterval(() => {
      const isIdle = performance.now() - this.#sentAt >= pingMs;
      if (isIdle && send(text)) this.#sentAt = performance.now();
    }, pingMs / 4);
  }

  async leave(): Promise<void> {
    clearInterval(this.#pinging);
    this.#leave();
    await this.#events.return();
  }
}

function streamOf(body: TextBody): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      body.keepAlive((text) => {
        if ((controller.desiredSize ?? 0) <= 0) return false;
        controller.enqueue(encoder.encode(text));
        return true;
      });
    },
    async pull(controller) {
      const text = await body.next();
      if (text === undefined) controller.close();
      else controller.enqueue(encoder.encode(text));
    },
    cancel: () => body.leave(),
  });
}

/** A response of events that are there as bytes already. Its reader may leave at any time. */
export function byteStream(bytes: AsyncGenerator<Uint8Array, void>): Response {
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      // It returns when the next bytes come.
      void bytes.return();
    },
  });
  return new Response(body, { headers: streamHeaders('text/event-stream; charset=utf-8') });
}

function streamHeaders(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-cache',
    // Otherwise proxies would buffer the stream.
    'x-accel-buffering': 'no',
  };
}

/** The value of a promise, or undefined if it takes longer than `ms`. Rejects like the promise. */
export async function resultWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** An event as it is sent. */
export function eventText({ name, data }: StreamEvent): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}
