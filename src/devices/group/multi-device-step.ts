import { Lifetime } from '../../base/disposal.ts';
import type { Step } from '../../device/index.ts';

/** What a step of several devices is made of. */
export interface MultiDeviceStepSetup<Piece> {
  readonly label: string;
  readonly pieces: readonly Piece[];
  readonly disposePiece: (piece: Piece) => void;
  readonly ended: (step: Step) => void;
}

/** A recorded step of several devices: pieces that run one after another. */
export abstract class MultiDeviceStep<Piece> implements Step {
  readonly label: string;
  readonly pieces: readonly Piece[];
  readonly #lifetime: Lifetime;
  readonly #disposePiece: (piece: Piece) => void;
  readonly #ended: (step: Step) => void;

  protected constructor({ label, pieces, disposePiece, ended }: MultiDeviceStepSetup<Piece>) {
    this.label = label;
    this.pieces = pieces;
    this.#disposePiece = disposePiece;
    this.#ended = ended;
    this.#lifetime = new Lifetime(`step ${label}`);
  }

  /** Throws `DISPOSED` after disposal. */
  check(): void {
    this.#lifetime.check();
  }

  [Symbol.dispose](): void {
    if (!this.#lifetime.end()) return;
    for (const piece of this.pieces) this.#disposePiece(piece);
    this.#ended(this);
  }
}
