import { Type } from 'typebox'
import { bandwidth, bandwidthUnits } from '../../../subjects/migrations/bandwidth.ts'
import { fieldsOf } from '../../../subjects/kit/json-schema.ts'
import { WireRefusal } from '../errors.ts'
import { operation } from '../operation.ts'
import type { Fields, Wire } from '../../surface/operation.ts'

const path = '/bandwidthPolicies/application'
/** The surface has one limit, of all that is moved. */
const global = { bind: { scope: 'global' }, omit: ['name'] } as const

const units = Object.keys(bandwidthUnits)
const { description = '' } = fieldsOf(bandwidth.set.input)['unit'] ?? {}

function checked(wire: Wire): Wire {
  const { unit } = wire
  if (unit !== undefined && !units.some((known) => known === unit))
    throw new WireRefusal(
      'INVALID_INPUT',
      { status: 412, errorCode: 'UNSUPPORTED_VALUE' },
      `unit must be one of ${units.join(', ')}`,
    )
  return wire
}

const fields: Fields = { unit: Type.Optional(Type.Enum(units, { description })) }

export const bandwidthOperations = [
  operation(bandwidth.get, 'GET', path, { ...global, query: [] }),
  operation(bandwidth.set, 'POST', path, {
    ...global,
    query: ['limit', 'unit'],
    fields,
    request: checked,
    refuses: { 412: 'UNSUPPORTED_VALUE: the unit is unknown.' },
    errors: {
      INVALID_INPUT: { errorCode: 'BANDWIDTH_POLICY_CREATION_EXCEPTION' },
      NOT_ACCEPTED: { errorCode: 'BANDWIDTH_POLICY_CREATION_EXCEPTION' },
    },
  }),
  operation(bandwidth.delete, 'DELETE', path, { ...global, query: [] }),
]
