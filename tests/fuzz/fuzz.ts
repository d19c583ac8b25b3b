import { mutate } from './mutate.ts';
import { type FileSet, tryOpen } from './try-open.ts';

/** A model whose handling broke, with the error that says how. */
export class FuzzFailure extends Error {
  constructor(
    readonly files: FileSet,
    cause: unknown,
  ) {
    super(`a damaged model was handled wrongly: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** Damages one file of the model and opens it. Gives the error's code, or `ok`; throws `FuzzFailure`. */
export async function fuzzOnce(model: FileSet, random: () => number): Promise<string> {
  const victim = Math.floor(random() * model.size);
  const damaged = new Map(
    Array.from(model, ([name, bytes], index) => [name, index === victim ? mutate(bytes, random) : bytes]),
  );
  try {
    return await tryOpen(damaged);
  } catch (error) {
    throw new FuzzFailure(damaged, error);
  }
}
