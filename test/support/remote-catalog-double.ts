/** What an agent says of a catalog that can do little. */
export const littleDescription = JSON.stringify({
  value: {
    place: 'far',
    functions: false,
    constraints: false,
    statistics: false,
    statisticsOfPartitions: false,
    writeIds: false,
    indexes: false,
    feed: false,
    privileges: false,
    roles: false,
  },
})
