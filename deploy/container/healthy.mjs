// Exits 0 while the platform of this container answers. Its port is that of the variables, as in docker-compose.yml.
const { GANTRY_PLATFORM_PORT, GANTRY_PORT_OFFSET } = process.env
const port = GANTRY_PLATFORM_PORT || 8080 + Number(GANTRY_PORT_OFFSET ?? 0)
const answers = await fetch(`http://127.0.0.1:${port}/api/v1/ping`).then(
  ({ ok }) => ok,
  () => false,
)
process.exitCode = answers ? 0 : 1
