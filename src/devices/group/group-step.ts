import { Lifetime } from '../../base/disposal.ts';
import type { Device, Executable, Step } from '../../device/index.ts';
import type { BoundCollective, GroupExecutable, GroupPiece } from './group-program.ts';

/** What a step runs: a step of every rank, or something that the ranks compute together. */
type StepPiece = { readonly kind: 'steps'; readonly ranks: readonly Step[] } | BoundCollective;

/** A recorded step of a group. */
export class GroupStep implements Step {
  readonly #lifetime: Lifetime;
  readonly #ended: (step: GroupStep) => void;

  private constructor(
    readonly label: string,
    readonly pieces: readonly StepPiece[],
    ended: (step: GroupStep) => void,
  ) {
    this.#ended = ended;
    this.#lifetime = new Lifetime(`step ${label}`);
  }

  /** Records what each rank runs between two collectives as one step of its device. */
  static async record(
    executables: readonly GroupExecutable[],
    of: {
      readonly label: string;
      readonly devices: readonly Device[];
      readonly ended: (step: GroupStep) => void;
    },
  ): Promise<GroupStep> {
    const { label, devices } = of;
    const recording = stretchesOf(executables.flatMap(({ pieces }) => pieces)).map(
      async (stretch): Promise<StepPiece> => {
        if (!Array.isArray(stretch)) return stretch;
        const ranks = await allOrNone(
          devices.map((device, rank) =>
            device.record(
              stretch.map((piece) => piece[rank] as Executable),
              `${label} of rank ${rank}`,
            ),
          ),
        );
        return { kind: 'steps', ranks };
      },
    );
    const done = await Promise.allSettled(recording);
    const pieces = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = done.find((one) => one.status === 'rejected');
    if (failed) {
      for (const piece of pieces) disposePiece(piece);
      throw failed.reason;
    }
    return new GroupStep(label, pieces, of.ended);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const piece of this.pieces) disposePiece(piece);
    this.#ended(this);
  }
}

/** Consecutive programs together, by rank, and collectives between them. */
function stretchesOf(pieces: readonly GroupPiece[]): ((readonly Executable[])[] | BoundCollective)[] {
  const stretches: ((readonly Executable[])[] | BoundCollective)[] = [];
  for (const piece of pieces) {
    const last = stretches.at(-1);
    if (piece.kind === 'collective') stretches.push(piece);
    else if (Array.isArray(last)) last.push(piece.ranks);
    else stretches.push([piece.ranks]);
  }
  return stretches;
}

/** All steps, or the first error with none of them left. */
async function allOrNone(recording: readonly Promise<Step>[]): Promise<readonly Step[]> {
  const done = await Promise.allSettled(recording);
  const steps = done.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = done.find((one) => one.status === 'rejected');
  if (!failed) return steps;
  for (const step of steps) step[Symbol.dispose]();
  throw failed.reason;
}

function disposePiece(piece: StepPiece): void {
  if (piece.kind === 'steps') for (const step of piece.ranks) step[Symbol.dispose]();
}
