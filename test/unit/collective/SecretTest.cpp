//===- SecretTest.cpp - secrets, and connections of processes that do not have them ------===//
#include "runtime/collective/socket/Secret.h"
#include "runtime/collective/socket/Acceptor.h"
#include "runtime/collective/socket/Rendezvous.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace sluice::socket {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Only a test that fails reaches it.
Deadline inTime() { return Clock::now() + std::chrono::seconds(20); }

class SecretTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sluice-secret-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  ~SecretTest() override { fs::remove_all(folder); }

  std::string write(const std::string &text, mode_t mode = 0600) const {
    const std::string path = folder + "/file";
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  void expectError(const std::string &path, const std::string &message, const std::string &note = "") const {
    const Status status = readSecretFile(path).status();
    EXPECT_EQ(status.code(), StatusCode::input);
    EXPECT_EQ(status.message(), message);
    EXPECT_EQ(status.notes(), note.empty() ? std::vector<std::string>() : std::vector<std::string>{note});
  }

  std::string folder;
};

// Tests files that are not a secret.
TEST_F(SecretTest, Files) {
  const std::string good = "0123456789abcdef", path = write(good);
  EXPECT_EQ(*readSecretFile(path), sha256(std::span(reinterpret_cast<const std::uint8_t *>(good.data()), good.size())));
  write(good + "0");
  EXPECT_NE(*readSecretFile(path), sha256(std::span(reinterpret_cast<const std::uint8_t *>(good.data()), good.size())));
  for (const auto &[mode, text] : {std::pair(0640, "0640"), {0604, "0604"}, {0620, "0620"}})
    expectError(write(good, static_cast<mode_t>(mode)),
                "other users can open the secret file '" + path + "' (mode " + text + ")",
                "allow only its owner: chmod 600 " + path);
  const std::string remedy = "write random bytes: head -c 32 /dev/urandom > " + path;
  const std::string expected = "the secret file '" + path + "', expected 16 to 4096 bytes but got ";
  expectError(write(good.substr(1)), expected + "15", remedy);
  expectError(write(""), expected + "0", remedy);
  expectError(write(std::string(100000, 'x')), expected + "100000", remedy);
  EXPECT_TRUE(readSecretFile(write(std::string(4096, 'x'))).isOk());
  expectError(folder + "/absent", "cannot read the secret file '" + folder + "/absent': No such file or directory");
  expectError(folder, "the secret file '" + folder + "' is not a regular file");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  expectError(folder + "/pipe", "the secret file '" + folder + "/pipe' is not a regular file");
}

// Tests that a secret of another user is refused, also by root, and one that others can replace.
TEST_F(SecretTest, Owners) {
  const std::string path = write("0123456789abcdef");
  const auto replaced = [&](const std::string &mode) {
    expectError(path, "other users can replace the secret file '" + path + "' (mode " + mode + " of its folder)",
                "allow only its owner: chmod go-w " + folder);
  };
  ::chmod(folder.c_str(), 0777);
  replaced("0777");
  ::chmod(folder.c_str(), 0702);
  replaced("0702");
  // The sticky bit protects a file from all but its owner.
  ::chmod(folder.c_str(), 01777);
  EXPECT_TRUE(readSecretFile(path).isOk());
  ::chmod(folder.c_str(), 0755);
  EXPECT_TRUE(readSecretFile(path).isOk());
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  expectError(path, "the secret file '" + path + "' belongs to user 65534, expected the user of this process, 0",
              "copy it, with mode 600, or give another file with --secret-file");
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
  expectError(path,
              "the folder of the secret file '" + path +
                  "' belongs to user 65534, expected the user of this process, 0, or root",
              "keep the secret in a folder of this user");
  ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
}

// Tests the secret of the user: created once, also by several processes at a time, and refused if others can read it.
TEST_F(SecretTest, OfTheUser) {
  ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  std::vector<Result<Digest>> secrets(8, Status());
  std::vector<std::thread> threads;
  for (Result<Digest> &secret : secrets)
    threads.emplace_back([&] { secret = readUserSecret(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const Result<Digest> &secret : secrets) {
    ASSERT_TRUE(secret.isOk()) << secret.status().message();
    EXPECT_EQ(*secret, *secrets[0]);
  }
  const std::string path = folder + "/sluice/secret";
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 32);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  fs::remove(path);
  EXPECT_NE(*readUserSecret(), *secrets[0]);
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(readUserSecret().status().message(), "other users can open the secret file '" + path + "' (mode 0644)");
  fs::remove_all(folder + "/sluice");
  std::ofstream(folder + "/sluice") << "a file";
  EXPECT_EQ(readUserSecret().status().message(), "cannot write the secret file '" + path + "': Not a directory");
  EXPECT_EQ(readUserSecret().status().notes(),
            std::vector<std::string>{"give all ranks a secret with --secret-file FILE"});
  ::unsetenv("XDG_CACHE_HOME");
}

const Digest secret = sha256({});

RendezvousOptions optionsOf(int rank, int size, std::uint16_t port, double seconds) {
  RendezvousOptions options;
  options.rank = rank;
  options.size = size;
  options.port = port;
  options.seconds = seconds;
  options.secret = secret;
  return options;
}

std::uint16_t freePort() { return portOf(*listenAt("127.0.0.1", 0)); }

Socket connectTo(std::uint16_t port) {
  Result<Socket> socket = connectUntil("127.0.0.1", port, inTime());
  EXPECT_TRUE(socket.isOk()) << socket.status().message();
  return std::move(*socket);
}

/// Two ranks meet at the port, whatever other connections there are, before any of these ends.
void expectMeeting(std::uint16_t port, const std::function<void()> &connectOthers) {
  std::array<std::string, 3> messages;
  std::vector<std::thread> ranks;
  const auto start = [&](int rank) {
    // Less than the time in which one connection must complete the handshake.
    ranks.emplace_back([&, rank] { messages[rank] = connectRanks(optionsOf(rank, 3, port, 8)).status().message(); });
  };
  start(0);
  connectOthers();
  start(1);
  start(2);
  for (std::thread &rank : ranks)
    rank.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, "");
}

// Tests that silent connections do not delay the ranks.
TEST(AcceptorTest, SilentConnections) {
  const std::uint16_t port = freePort();
  std::vector<Socket> silent;
  expectMeeting(port, [&] {
    for (int i = 0; i < 5; ++i)
      silent.push_back(connectTo(port));
  });
}

// Tests more silent connections than the acceptor keeps: it closes the oldest ones.
TEST(AcceptorTest, ManySilentConnections) {
  const std::uint16_t port = freePort();
  std::vector<Socket> silent;
  expectMeeting(port, [&] {
    for (int i = 0; i < 300; ++i)
      silent.push_back(connectTo(port));
  });
  std::byte byte{};
  EXPECT_EQ(receiveAll(silent.front(), std::span(&byte, 1), inTime()).message(), "the connection was closed");
}

// Tests bytes that are not the protocol: the connection is closed without a reply.
TEST(AcceptorTest, Garbage) {
  const std::uint16_t port = freePort();
  std::vector<Socket> others;
  expectMeeting(port, [&] {
    for (const std::string &text : {std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n and some more text"),
                                    std::string(1 << 16, '\xff'), std::string("short")}) {
      others.push_back(connectTo(port));
      (void)sendAll(others.back(), std::as_bytes(std::span(text)), inTime());
    }
  });
  std::byte byte{};
  EXPECT_FALSE(receiveAll(others[0], std::span(&byte, 1), inTime()).isOk());
}

/// Sends a hello and receives the challenge.
Challenge challengeOf(const Socket &socket, const Hello &hello) {
  Challenge challenge;
  EXPECT_TRUE(sendAll(socket, bytesOf(hello), inTime()).isOk());
  EXPECT_TRUE(receiveAll(socket, writableBytesOf(challenge), inTime()).isOk());
  return challenge;
}

// Tests greetings with a wrong secret, with the challenge's proof sent back, with that of an earlier connection, and
// with a world size that the proof does not include: none takes the place of a rank.
TEST(AcceptorTest, WrongProofs) {
  const std::uint16_t port = freePort();
  const Introduction introduction{1, 3, 0, 9, {}};
  Hello hello{helloMagic, {}};
  std::vector<Socket> others;
  expectMeeting(port, [&] {
    for (int i = 0; i < 4; ++i) {
      others.push_back(connectTo(port));
      const Challenge challenge = challengeOf(others.back(), hello);
      EXPECT_EQ(challenge.proof, proofOfChallenge(secret, hello, challenge.nonce));
      Digest wrong = secret;
      wrong[31] ^= 1;
      const Nonce old{};
      Greeting greeting{introduction, proofOfGreeting(secret, hello, i == 2 ? old : challenge.nonce, introduction)};
      if (i == 0)
        greeting.proof = proofOfGreeting(wrong, hello, challenge.nonce, introduction);
      if (i == 1)
        greeting.proof = challenge.proof;
      if (i == 3)
        greeting.introduction.size = 2147483647;
      EXPECT_TRUE(sendAll(others.back(), bytesOf(greeting), inTime()).isOk());
    }
  });
  std::byte byte{};
  for (const Socket &socket : others)
    EXPECT_EQ(receiveAll(socket, std::span(&byte, 1), inTime()).message(), "the connection was closed");
}

// Tests that a rank with a different secret says so, and that rank 0 does not accept it.
TEST(RendezvousTest, DifferentSecrets) {
  const std::uint16_t port = freePort();
  Status first;
  std::thread rankZero([&] { first = connectRanks(optionsOf(0, 2, port, 1)).status(); });
  RendezvousOptions options = optionsOf(1, 2, port, 20);
  options.secret[0] ^= 1;
  const Status second = connectRanks(options).status();
  EXPECT_EQ(second.message(), "rank 0 has a different secret than rank 1");
  EXPECT_EQ(second.notes(), std::vector<std::string>{"start all ranks with the same --secret-file"});
  rankZero.join();
  EXPECT_EQ(first.message().find("rank 1 did not connect within 1 s"), 0u) << first.message();
}

/// Connects as `rank` of 3, as far as the reply of rank 0.
Socket connectAs(int rank, std::uint16_t port) {
  Socket socket = connectTo(port);
  const Hello hello{helloMagic, randomNonce()};
  const Challenge challenge = challengeOf(socket, hello);
  const Introduction introduction{rank, 3, 0, 9, {}};
  const Greeting greeting{introduction, proofOfGreeting(secret, hello, challenge.nonce, introduction)};
  EXPECT_TRUE(sendAll(socket, bytesOf(greeting), inTime()).isOk());
  return socket;
}

// Tests a rank that dies after it has connected: the others do not wait for the rest of the time.
TEST(RendezvousTest, RankThatDies) {
  for (const bool allConnected : {false, true}) {
    const std::uint16_t port = freePort();
    std::array<std::string, 2> messages;
    std::vector<std::thread> ranks;
    for (int rank : {0, 1})
      if (rank == 0 || allConnected)
        ranks.emplace_back(
            [&, rank] { messages[rank] = connectRanks(optionsOf(rank, 3, port, 3600)).status().message(); });
    {
      Socket dying = connectAs(2, port);
      std::byte byte{};
      if (allConnected) {
        EXPECT_TRUE(receiveAll(dying, std::span(&byte, 1), inTime()).isOk());
      }
    }
    for (std::thread &rank : ranks)
      rank.join();
    EXPECT_EQ(messages[0], "rank 2 has died during the rendezvous");
    EXPECT_EQ(messages[1], allConnected ? messages[0] : "");
  }
}

// Tests a rank that stops after it has connected to rank 0: the others end after the time to connect.
TEST(RendezvousTest, RankThatStops) {
  const std::uint16_t port = freePort();
  std::array<std::string, 2> messages;
  std::vector<std::thread> ranks;
  for (int rank : {0, 1})
    ranks.emplace_back([&, rank] { messages[rank] = connectRanks(optionsOf(rank, 3, port, 2)).status().message(); });
  const Socket stopped = connectAs(2, port);
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(messages[0], "ranks 1, 2 did not connect to all ranks within 2 s");
  EXPECT_EQ(messages[1], messages[0]);
}

} // namespace
} // namespace sluice::socket
