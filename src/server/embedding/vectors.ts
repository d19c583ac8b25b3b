import { z } from 'zod';
import { someAtOnce } from '../../base/some-at-once.ts';
import type { TextModel } from '../../engine/text-model.ts';
import { refuseAdapter } from '../generation/adapter-field.ts';
import { modelField } from '../generation/sampling-fields.ts';
import type { RequestContext } from '../request-context.ts';
import { encodedInputs, type inputField } from './embed-inputs.ts';

/** The fields of a request for embeddings besides its texts. */
export const vectorFields = {
  model: modelField,
  encoding_format: z.enum(['float', 'base64']).nullish().describe('base64 holds f32, little-endian.'),
  dimensions: z
    .int()
    .positive()
    .nullish()
    .describe('Keeps the first so many values, for models that were trained for this.'),
  pooling: z
    .enum(['mean', 'cls', 'last'])
    .nullish()
    .describe('How the rows of a text become one vector. Default: as the server or the file says.'),
  embd_normalize: z
    .int()
    .min(-1)
    .nullish()
    .describe('-1 leaves vectors as they are, 0 scales the largest value to 32760, p gives the p-norm 1.'),
};

/** The largest value with `embd_normalize: 0`, as in llama.cpp. */
const LARGEST = 32_760;

type VectorsBody = z.output<z.ZodObject<typeof vectorFields>>;

/** What was computed for a request's texts. */
export interface RequestVectors<T> {
  /** The model's id. */
  readonly model: string;
  readonly made: readonly T[];
  readonly tokens: number;
}

/** Vectors of one text: one, or one per token. */
export interface TextVectors {
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

/**
 * The vectors of a request's texts, with its pooling, dimensions and norm; without a pooling, the rows of the tokens as
 * they leave the model. Rejects as `TextModel.embed`, and so without a pooling unless `mayBeRows`.
 */
export function embedInputs(
  request: Omit<VectorsBody, 'pooling'> & {
    readonly pooling?: VectorsBody['pooling'] | 'none';
    readonly input: z.output<typeof inputField>;
  },
  call: RequestContext,
  { mayBeRows = false }: { readonly mayBeRows?: boolean } = {},
): Promise<RequestVectors<TextVectors>> {
  const { dimensions, embd_normalize, pooling: asked } = request;
  const { signal } = call;
  const norm = embd_normalize ?? 2;
  const pooling = asked === 'cls' ? 'first' : (asked ?? undefined);
  const how = { dimensions: dimensions ?? undefined, normalized: norm === 2, signal };
  return eachInput(request, call, async (model, ids) => {
    const effective = pooling ?? model.config.pooling;
    if (mayBeRows && effective === 'none') return model.embedTokens(ids, { signal });
    const { vector, tokens } = await model.embed(ids, { ...how, ...(pooling !== 'none' && { pooling }) });
    return { vectors: [norm === 2 ? vector : normed(vector, norm)], tokens };
  });
}

/** A vector as an answer has it. */
export function writtenVector(
  vector: Float32Array,
  { encoding_format: format }: Pick<VectorsBody, 'encoding_format'>,
): number[] | string {
  if (format !== 'base64') return Array.from(vector);
  const view = new DataView(new ArrayBuffer(4 * vector.length));
  vector.forEach((value, i) => view.setFloat32(4 * i, value, true));
  return btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
}

/** Computes something of each text, once all of them are known to fit. */
export async function eachInput<T extends { readonly tokens: number }>(
  {
    model: name,
    input,
  }: { readonly model?: string | null | undefined; readonly input: z.output<typeof inputField> },
  call: RequestContext,
  compute: (model: TextModel, ids: readonly number[]) => Promise<T>,
): Promise<RequestVectors<T>> {
  const { pool, gate } = call.server;
  using _place = gate.admit(call.tenant);
  using lease = await pool.acquire(name ?? undefined, call.signal);
  refuseAdapter(lease);
  const texts = await encodedInputs(lease.model, input, call.signal);
  // As many as are computed together: other requests' texts take turns with these.
  const made = await someAtOnce(texts, lease.model.activity.slots, (ids) => compute(lease.model, ids));
  const tokens = made.reduce((sum, of) => sum + of.tokens, 0);
  call.countPrompt(lease.id, tokens);
  return { model: lease.id, made, tokens };
}

/** The vector divided by a norm of it, as `embd_normalize` numbers them in llama.cpp. */
function normed(vector: Float32Array, norm: number): Float32Array {
  const sizes = vector.map(Math.abs);
  const length = (): number => {
    if (norm < 0) return 1;
    if (norm === 0) return sizes.reduce((a, b) => Math.max(a, b), 0) / LARGEST;
    return sizes.reduce((sum, size) => sum + size ** norm, 0) ** (1 / norm);
  };
  const divisor = length();
  return divisor > 0 ? vector.map((value) => value / divisor) : vector;
}
