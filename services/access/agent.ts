import type { Capabilities } from '../../subjects/keys.ts'
import { roots } from '../../subjects/names.ts'

/** The consumers of every migration's queue, one for each lane; no other stream has any of these names. */
const lanes = ['region', 'transfer']

/**
 * What a transfer agent may do in the platform's account: take items of work queues, keep them alive, end them, make
 * others, keep count, note failures. It reaches no capability, no record, and no stream but through these consumers: who
 * may make a consumer there could have what it wrote delivered as somebody's request.
 */
export const agentCapabilities: Capabilities = {
  pub: {
    allow: [
      ...lanes.map((lane) => `$JS.API.CONSUMER.MSG.NEXT.*.${lane}`),
      ...lanes.map((lane) => `$JS.ACK.*.${lane}.>`),
      `${roots.work}.*.*`,
      `${roots.failures}.*`,
      '$KV.progress.*',
    ],
  },
  sub: { allow: [] },
}
