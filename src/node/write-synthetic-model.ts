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
  /** The value of `general.name`. */
  readonly name: string;
  readonly shape: SyntheticShape;
}

/**
 * Writes a GGUF file of random weights and returns its length in bytes. It has a temporary name until it is complete:
 * on failure or abort no file is left, and an existing file of its name is unchanged, even for those who have it open.
 * Rejects with `INVALID_ARGUMENT`, `WRITE_FAILED` or `ABORTED`.
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

/** The actual path of a file after all symbolic links, the last of which may be dangling. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    // A cycle of links would be followed forever.
    if (cause instanceof Error && 'code' in cause && cause.code === 'ELOOP') return notWritten(path, cause);
    const link = await readlink(path).catch(() => undefined);
    if (link === undefined) return path;
    // Not normalized: the system has to resolve `..` after a link to a folder.
    return targetOf(isAbsolute(link) ? link : `${dirname(path)}${sep}${link}`);
  }
}

/** True for special files such as pipes, which are written to directly and must not be replaced. */
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
