import { fail, isRocmforgeError } from '../../base/errors.ts';
import { invalid } from '../endpoint.ts';
import { freshId, nowSeconds } from '../fresh-id.ts';
import type { RequestContext } from '../request-context.ts';
import { type ConversationRecord, itemBounds, withItems } from './conversation-record.ts';
import {
  inputItem,
  type InputItem,
  itemId,
  itemsOf,
  type ResponseItem,
  responseOfItem,
  storedItems,
} from './response-items.ts';
import { type ResponsesBody } from './responses-schema.ts';

/** Maximum responses that a conversation of responses may have. */
const MAX_TURNS = 4096;
/** Maximum responses whose items a request may refer to. */
const MAX_REFERRED = 64;

/** Maximum bytes of the records of all of them: responses that were never carried out can be as large as requests. */
const MAX_HISTORY_BYTES = 2 ** 25;

/** A stored response, without the parts of the conversation that other records have. */
export interface ResponseRecord {
  readonly response: ResponseObject;
  /** The items of its own input. */
  readonly input: readonly ResponseItem[];
  readonly previous: string | null;
  readonly conversation: string | null;
}

/** What is read of a stored response. */
export interface ResponseObject {
  readonly id: string;
  readonly status: string;
  readonly background: boolean;
  readonly output: readonly ResponseItem[];
}

/** A response's place in its conversation: what came before, and where the response is kept. */
export class ResponseTurn {
  readonly id = freshId('resp_');
  readonly #own: readonly InputItem[];
  readonly created = nowSeconds();
  readonly conversation: string | null;
  readonly #request: ResponsesBody;
  readonly #call: RequestContext;
  readonly #history: readonly InputItem[];
  readonly #input: readonly ResponseItem[];

  private constructor(
    request: ResponsesBody,
    call: RequestContext,
    { history, own }: { history: readonly ResponseItem[]; own: readonly InputItem[] },
  ) {
    this.#request = request;
    this.#call = call;
    // A call that a limit cut off has no arguments that a template could read.
    const whole = history.filter(({ type, status }) => type !== 'function_call' || status !== 'incomplete');
    this.#history = whole.map((item) => inputItem.parse(item));
    this.#own = own;
    this.#input = storedItems(own, 'input', (prefix, index) => itemId(prefix, this.id, `i${index}`));
    this.conversation = conversationOf(request);
  }

  /** Rejects with `STORED_NOT_FOUND`, and with `REQUEST_INVALID` for fields that contradict each other. */
  static async open(request: ResponsesBody, call: RequestContext): Promise<ResponseTurn> {
    const conversation = conversationOf(request);
    const { previous_response_id: previous, background, store, stream } = request;
    if (conversation !== null && previous) invalid('conversation', 'previous_response_id is there, too');
    if (background && store === false)
      invalid('background', 'a response that is not stored cannot be fetched');
    if (background && stream) invalid('stream', 'a background response is requested by its id');
    let history: readonly ResponseItem[] = [];
    if (conversation !== null) {
      history = (await call.stored.get<ConversationRecord>('conversation', conversation)).items;
    } else if (previous) history = await itemsBefore(call, previous);
    const own = await resolved(itemsOf(request.input), history, call);
    return new ResponseTurn(request, call, { history, own });
  }

  /** The whole conversation, and how many of its items were stored before. */
  get items(): { readonly items: readonly InputItem[]; readonly from: number } {
    return { items: [...this.#history, ...this.#own], from: this.#history.length };
  }

  /** Stores the response as it is now. Rejects with `STORE_FULL` and `WRITE_FAILED`. */
  async put(response: object): Promise<void> {
    const record: ResponseRecord = {
      response: response as ResponseObject,
      input: this.#input,
      previous: this.#request.previous_response_id ?? null,
      conversation: this.conversation,
    };
    await this.#call.stored.put('response', this.id, record);
  }

  /**
   * Stores the whole response where the request wants that, and adds it to its conversation; resolves to whether it is
   * stored. That it has no room is an error only for those who asked for it by name.
   */
  async keep(response: (isStored: boolean) => object): Promise<boolean> {
    const { store, background } = this.#request;
    const whole = response(true) as ResponseObject;
    if (this.conversation !== null) {
      await this.#call.stored.update<ConversationRecord>('conversation', this.conversation, (record) =>
        withItems(record, [...this.#input, ...whole.output]),
      );
    }
    if (store === false) return false;
    try {
      await this.put(whole);
      return true;
    } catch (error) {
      const isForced = store === true || background === true;
      if (isForced || !(isRocmforgeError(error, 'STORE_FULL') || isRocmforgeError(error, 'WRITE_FAILED'))) {
        throw error;
      }
      this.#call.server.logger.warn('response not stored', { id: this.#call.id, code: error.code });
      return false;
    }
  }
}

/**
 * Items with those that references name in their places: of the conversation so far, or of any stored response. Rejects with
 * `STORED_NOT_FOUND` and `REQUEST_INVALID`.
 */
async function resolved(
  items: readonly InputItem[],
  history: readonly ResponseItem[],
  call: RequestContext,
): Promise<readonly InputItem[]> {
  if (!items.some(isReference)) return items;
  const known = new Map(history.map((item) => [item.id, item]));
  const read = new Set<string>();
  const found: InputItem[] = [];
  const recordOf = recordsOf(call, 'input');
  const count = itemBounds('input');
  for (const [index, item] of items.entries()) {
    const { id } = item;
    if (!isReference(item)) found.push(item);
    else if (!id) invalid(`input.${index}`, 'an item_reference has an id');
    else {
      const response = responseOfItem(id);
      if (!known.has(id) && response !== undefined && !read.has(response)) {
        if (read.add(response).size > MAX_REFERRED) {
          invalid('input', `its references name items of more than ${MAX_REFERRED} responses`);
        }
        const record = await recordOf(response);
        for (const one of [...record.input, ...record.response.output]) known.set(one.id, one);
      }
      const referred = known.get(id) ?? fail('STORED_NOT_FOUND', { what: 'an item', id: id.slice(0, 80) });
      // One item may be named many times.
      count(referred);
      // What is stored with this response is an item of its own.
      found.push(inputItem.parse({ ...referred, id: undefined }));
    }
  }
  return found;
}

function isReference({ type, id, role }: InputItem): boolean {
  return type === 'item_reference' || (!type && !role && Boolean(id));
}

function conversationOf({ conversation }: ResponsesBody): string | null {
  return typeof conversation === 'string' ? conversation : (conversation?.id ?? null);
}

/** Reads stored responses, and no more of them than `MAX_HISTORY_BYTES`: then it rejects with `REQUEST_INVALID`. */
function recordsOf(call: RequestContext, field: string): (id: string) => Promise<ResponseRecord> {
  let bytes = 0;
  return async (id) => {
    bytes += await call.stored.recordBytes('response', id);
    if (bytes > MAX_HISTORY_BYTES) {
      invalid(field, `the responses that it names have more than ${MAX_HISTORY_BYTES} bytes`);
    }
    return call.stored.get<ResponseRecord>('response', id);
  };
}

/** The items of a stored response's conversation up to its own output. */
async function itemsBefore(call: RequestContext, id: string): Promise<ResponseItem[]> {
  const turns: ResponseItem[][] = [];
  const read = recordsOf(call, 'previous_response_id');
  for (let next: string | null = id; next !== null;) {
    const record: ResponseRecord = await read(next);
    const { status } = record.response;
    if (status === 'queued' || status === 'in_progress') {
      fail('STORED_IN_USE', { what: 'the response', id: next, state: status });
    }
    if (record.conversation !== null) {
      invalid('previous_response_id', `${next} belongs to a conversation: send that as conversation`);
    }
    turns.push([...record.input, ...record.response.output]);
    if (turns.length > MAX_TURNS) invalid('previous_response_id', `more than ${MAX_TURNS} responses precede`);
    next = record.previous;
  }
  const items = turns.toReversed().flat();
  items.forEach(itemBounds('previous_response_id'));
  return items;
}
