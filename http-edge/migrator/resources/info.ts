import { Type } from 'typebox'
import { platform } from '../../../subjects/platform/platform.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { operation } from '../operation.ts'

const { name, version, instance } = platform.info.output.properties

/** What the platform tells anybody, as under `/api/v1`. */
export const infoOperations = [
  operation(platform.info, 'GET', '/info', {
    public: true,
    summary: 'Name and version of the service',
    reply: strict({ name, version, nodeId: instance }),
    response: (info) => ({ name: info.name, version: info.version, nodeId: info.instance }),
  }),
  operation(platform.info, 'GET', '/info/nodeID', {
    public: true,
    summary: 'Instance id',
    reply: Type.String({ maxLength: 60, description: 'Instance id' }),
    response: (info) => info.instance,
  }),
]
