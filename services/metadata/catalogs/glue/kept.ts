/**
 * Parameters in which we keep what Glue has no place for, so that it comes back as it was: the owner of a database, an owner
 * that is no user, and the location of managed tables.
 */
export const kept = {
  owner: 'gantry.owner',
  ownerType: 'gantry.owner.type',
  managedLocation: 'gantry.managed.location',
} as const
