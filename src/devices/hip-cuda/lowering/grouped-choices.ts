import type { Temporary } from '../../../device/index.ts';

/** The choices of a batch's rows, grouped by expert: see `group-choices.hip`. */
export interface GroupedChoices {
  readonly order: Temporary;
  readonly tiles: Temporary;
  /** Rows of a tile, and how many tiles there are at most. */
  readonly tileRows: number;
  readonly tileCount: number;
}
