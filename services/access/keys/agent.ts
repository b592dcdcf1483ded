import type { Capabilities } from '../../../subjects/access/keys.ts'
import { agentSubject, roots } from '../../../subjects/kit/names.ts'

/** The consumers of every migration's queue, one for each lane; no other stream has any of these names. */
const lanes = ['region', 'transfer']

/**
 * What a transfer agent may do in the platform's account: take items of work queues, keep them alive, end them, make
 * others, note failures, and ask what is for agents (`subjects/migrations/agent-work.ts`) under its own key id. It reaches no
 * capability, no record, and no stream but through these consumers: who may make a consumer there could have what it wrote
 * delivered as somebody's request.
 * @param keyId its key; `*` for what a key of an agent may become
 */
export const agentCapabilities = (keyId: string): Capabilities => ({
  pub: {
    allow: [
      ...lanes.map((lane) => `$JS.API.CONSUMER.MSG.NEXT.*.${lane}`),
      ...lanes.map((lane) => `$JS.ACK.*.${lane}.>`),
      `${roots.work}.*.*`,
      `${roots.failures}.*`,
      agentSubject(keyId, '*'),
    ],
  },
  sub: { allow: [] },
})
