/** An event of a stream: its data, and its name where the API names events. */
export interface StreamEvent {
  readonly name?: string;
  readonly data: string;
}

/**
 * A response that sends events as they come (server-sent events, WHATWG HTML section 9.2). The next event is asked for when
 * the client has taken the last ones; a client that leaves makes `leave` be called and ends the events.
 */
export function eventStream(events: AsyncGenerator<StreamEvent, void>, leave: () => void): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await events.next();
      if (next.done) controller.close();
      else controller.enqueue(encoder.encode(eventText(next.value)));
    },
    async cancel() {
      leave();
      await events.return();
    },
  });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies would hold the pieces back.
    'x-accel-buffering': 'no',
  };
  return new Response(body, { headers });
}

function eventText({ name, data }: StreamEvent): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}
