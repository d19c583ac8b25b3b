import { testEmulatedPrelude } from '../support/hip-cuda/emulated-prelude.ts';

await testEmulatedPrelude('gfx942');
