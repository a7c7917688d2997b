const prices = { apples: 3, pears: 4 };

module.exports = async () => ({ status: 200, body: JSON.stringify(prices) + "\n" });
