import { openNullDevice } from '../../src/devices/null/index.ts';
import { testDeviceContract } from '../support/contract/index.ts';

testDeviceContract('null', async () => openNullDevice(), {
  skip: [
    {
      reason: 'the null device keeps no contents and computes nothing',
      tests: ['memory contents', 'streams order', 'packing', 'operator'],
    },
  ],
});
