import { randomUUID } from 'node:crypto';
import { readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, sep } from 'node:path';
import { fail } from '../base/errors.ts';
import { GgufWriter } from '../gguf/index.ts';
import { type RandomWeightsOptions, writeRandomWeights } from '../model/synthetic/random-weights.ts';
import type { SyntheticShape } from '../model/synthetic-family.ts';
import { type SyntheticPlanOptions, syntheticPlan } from '../model/synthetic/synthetic-plan.ts';
import { FileSink } from './file-sink.ts';

/** What model is written, and where. */
export interface SyntheticModelRequest extends SyntheticPlanOptions, RandomWeightsOptions {
  readonly path: string;
  /** Goes into `general.name`. */
  readonly name: string;
  readonly shape: SyntheticShape;
}

/**
 * Writes a GGUF file of random weights and returns its length in bytes. It has another name until it is complete: on failure
 * or abort no file is left, and a file of its name stays what it was, for those who have it open, too. Rejects with
 * `INVALID_ARGUMENT`, `WRITE_FAILED` or `ABORTED`.
 */
export async function writeSyntheticModel(request: SyntheticModelRequest): Promise<number> {
  const plan = await syntheticPlan(request.name, request.shape, request);
  const target = await targetOf(request.path);
  const part = (await isDevice(target)) ? undefined : `${target}.${randomUUID()}`;
  const sink = await FileSink.create(part ?? target, part !== undefined);
  try {
    const writer = await GgufWriter.begin(sink, plan);
    await writeRandomWeights(writer, request);
    await sink.dispose();
    if (part !== undefined) await rename(part, target).catch((cause: unknown) => notWritten(target, cause));
    return writer.layout.byteLength;
  } catch (error) {
    await sink.dispose();
    if (part !== undefined) await rm(part, { force: true });
    throw error;
  }
}

/** Where a file of that name is, or is going to be: behind all links, whose last may lead to nothing yet. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    // Links in a circle would be followed for ever.
    if (cause instanceof Error && 'code' in cause && cause.code === 'ELOOP') return notWritten(path, cause);
    const link = await readlink(path).catch(() => undefined);
    if (link === undefined) return path;
    // Not normalized: `..` behind a link to a folder is for the system to follow.
    return targetOf(isAbsolute(link) ? link : `${dirname(path)}${sep}${link}`);
  }
}

/** True for what is no file, such as a pipe: it takes what is written and is not ours to replace. */
function isDevice(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => !stats.isFile(),
    () => false,
  );
}

function notWritten(path: string, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return fail('WRITE_FAILED', { path, reason }, cause);
}
