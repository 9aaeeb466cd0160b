import mcp = require('mcp-sansio');

export const server: mcp.Server = new mcp.Server(mcp.Definition.builder('a', '1').build());
