import type { Device, Executable, Step } from '../../device/index.ts';
import type { BoundCollective, GroupExecutable, GroupPiece } from './group-program.ts';
import { allRecorded } from './member-objects.ts';
import { MultiDeviceStep } from './multi-device-step.ts';

/** What a step runs: a step of every rank, or something that the ranks compute together. */
type StepPiece = { readonly kind: 'steps'; readonly ranks: readonly Step[] } | BoundCollective;

/** A recorded step of a group. */
export class GroupStep extends MultiDeviceStep<StepPiece> {
  /** Records what each rank runs between two collectives as one step of its device. */
  static async record(
    executables: readonly GroupExecutable[],
    of: {
      readonly label: string;
      readonly devices: readonly Device[];
      readonly ended: (step: Step) => void;
    },
  ): Promise<GroupStep> {
    const { label, devices, ended } = of;
    const recording = stretchesOf(executables.flatMap(({ pieces }) => pieces)).map(
      async (stretch): Promise<StepPiece> => {
        if (!Array.isArray(stretch)) return stretch;
        const ranks = recordOnAll(devices, (device, rank) =>
          device.record(
            stretch.map((piece) => piece[rank] as Executable),
            `${label} of rank ${rank}`,
          ),
        );
        return { kind: 'steps', ranks: await allRecorded(ranks, (step) => step[Symbol.dispose]()) };
      },
    );
    const pieces = await allRecorded(recording, disposePiece);
    return new GroupStep({ label, pieces, disposePiece, ended });
  }
}

/**
 * Records on all ranks. A device of this process may hold up the thread until the others record, too: those of other processes are asked
 * first.
 */
function recordOnAll(
  devices: readonly Device[],
  record: (device: Device, rank: number) => Promise<Step>,
): readonly Promise<Step>[] {
  const areAllHere = devices.every(({ flushed }) => !flushed);
  if (areAllHere) return devices.map(record);
  const elsewhere = devices.map((device, rank) => (device.flushed ? record(device, rank) : undefined));
  const asked = Promise.all(devices.map(async (device) => device.flushed?.()));
  return devices.map((device, rank) => elsewhere[rank] ?? asked.then(() => record(device, rank)));
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

function disposePiece(piece: StepPiece): void {
  if (piece.kind === 'steps') for (const step of piece.ranks) step[Symbol.dispose]();
}
