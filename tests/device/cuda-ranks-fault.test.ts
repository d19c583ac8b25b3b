import { testRanksFault } from '../support/hip-cuda/hardware-ranks.ts';

await testRanksFault('cuda');
