import type { Device } from '../../device/index.ts';
import type { GgufFile } from '../../gguf/index.ts';
import type { ModelConfig } from '../../model/model-config.ts';
import type { TokenSource } from './draft-proposer.ts';

/** An open draft model. The caller owns it. */
export interface DraftModel extends TokenSource {
  readonly gguf: GgufFile;
  readonly config: ModelConfig;
}

/** The source of a draft model, which the main model then opens and owns. */
export interface DraftSource {
  readonly gguf: GgufFile;
  /** Its own device. Default: the main model's, whose memory they then share. */
  readonly device?: Device | undefined;
  /** Reopens its own device after a loss. */
  readonly reopen?: (() => Promise<Device>) | undefined;
}
