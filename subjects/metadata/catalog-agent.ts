import { Type } from 'typebox'
import { Name } from '../kit/schemas.ts'

/** How a catalog is reached that only another host can reach. Each kind that is spoken to has it beside its own. */
export const reachedThrough = {
  agent: Type.Optional(
    Name(
      'Registered agent from whose host the catalog is reached; it must be started with `gantry agent --catalogs`. Default: the host where Gantry runs',
    ),
  ),
}
