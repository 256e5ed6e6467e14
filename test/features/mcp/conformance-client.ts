// The command that the conformance suite starts for each scenario: the test that has started the
// suite plays the scenario in its own process.
const [player = '', server] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const body = JSON.stringify({ scenario, server, context: JSON.parse(context) as unknown });
const answer = await fetch(player, { method: 'POST', body });
process.exitCode = answer.ok ? 0 : 1;
