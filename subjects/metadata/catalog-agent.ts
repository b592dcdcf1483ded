import { Type } from 'typebox'
import { Name } from '../kit/schemas.ts'

/** How a catalog is reached that only another host can reach. Each kind that is spoken to has it beside its own. */
export const reachedThrough = {
  agent: Type.Optional(
    Name(
      'Name under which an agent was registered: the catalog is reached from the host of that agent, which must run with --catalogs. Default: from the host where Gantry runs',
    ),
  ),
}
