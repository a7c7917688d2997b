module.exports = async (context) => {
  const name = context.request.query.name || 'world';
  return { status: 200, body: `hello, ${name}\n` };
};
